// Package random does the same random operations on the store under test and on the memory backend, which must answer
// alike.
//
// What comes in is a store, a seed and a number. What goes out is the first difference, shrunk to few operations.
package random
