// Package upkeep opens and drops collections, builds indexes, compares them with the records, and removes what nobody sees.
// A layout comes in; a Keeper goes out, on which package repo does all that it offers.
package upkeep
