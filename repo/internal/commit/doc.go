// Package commit writes: it reads what is there, builds the commit, sends it, and tries again or settles what became of it.
// Writes come in; versions, errors and outcomes go out.
package commit
