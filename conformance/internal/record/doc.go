// Package record has the records of random operations and of histories.
//
// What comes in are the facts of a store. What goes out is a type of records, and a schema with every form of index that
// the store can have.
package record
