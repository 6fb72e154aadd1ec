// Package finding has what a check finds: what it wanted, and what it got.
//
// What comes in is a function that compares, and panics at the first deviation. What goes out is an error: a Mismatch,
// also for a panic of the store, or that the store's facts rule the check out.
package finding
