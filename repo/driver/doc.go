// Package driver is what a backend implements and package repo calls: a small
// interface ([Store]), the values that travel through it, and the sentinel
// errors that both sides use.
//
// It is written for the author of a backend. A backend moves rows of tables; it
// knows neither records nor indexes. Package repo turns every record into one
// row of a Records table and one row for each of its index entries, and asks
// for all of them in one [Store.Commit]. What a backend must promise is said
// in the comments of [Store]; package conformance checks each sentence.
//
// Most of these sentences that are the same for every store package frame keeps: a backend
// that is made with it implements a smaller interface.
//
// The package imports nothing but the standard library and is imported by
// everything else.
package driver
