// Package watchdog tells what is slow from what hangs.
//
// What comes in are the steps of something that is under way. What goes out is a context that ends when no step comes
// for too long, and whether what was called returned at all.
package watchdog
