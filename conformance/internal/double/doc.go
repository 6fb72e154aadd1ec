// Package double has stand-ins for what surrounds a check: clocks, contexts, sequences, and stores with a fault of their own.
//
// What comes in is a store. What goes out is the same one that loses answers, waits, or leaves something out.
package double
