// Package table has the tables of the rules that call a store directly.
//
// What comes in is the name of a run. What goes out are its tables, with keys and fields of every kind.
package table
