// Package history lets many goroutines work on few records at once, in calm or while the store is in trouble.
//
// What comes in is a store, a seed and a number. What goes out is the first history that no order of its calls explains.
package history
