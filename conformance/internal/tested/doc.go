// Package tested says what a store cannot, and how far its indexes reach.
//
// What comes in are the facts of a store. What goes out is the reason why it cannot do something, "" if it can.
package tested
