package main

// A Protocol is the protocol, or one mutant of it, in one scenario. It says what a call
// does to the store, what an attempt does next, and what is concluded from a record that
// was read. It never changes.
type Protocol struct {
	mutant  Mutant
	drop    uint8 // how a row is dropped: gone or fading
	unique  bool  // the scenario has unique values
	builds  bool  // the index is built while the scenario runs
	unread  bool  // inserts do not read before they commit: no index has rows elsewhere
	settles bool  // what is resolved must be settled as long as the ring tells
	minutes uint8 // how many pass; 0: the scenario has no clocks
}
