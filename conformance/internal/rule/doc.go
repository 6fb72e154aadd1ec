// Package rule has what a rule is and what it works with.
//
// What comes in is a store and a list of sentences with functions that check them. What goes out is whether each is
// kept, and what was made in the store meanwhile.
package rule
