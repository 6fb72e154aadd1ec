// Package loadtest measures which store and which data model answer an
// application's queries best. A workload file says the collections, where their
// records come from, the queries with weights and objectives, and the models to
// compare; see docs/reference/workload.md.
//
// A run loads every model into fresh collections of its own, checks that all
// models give the same answers, sends the operations of the mix at a fixed rate
// whether or not earlier ones have been answered, and ends in a verdict. It
// leaves nothing behind.
package loadtest
