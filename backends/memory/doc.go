// Package memory is a backend that keeps everything in the memory of the
// process. It is the reference: where another backend answers differently, the
// other one is wrong. So it is written to be read, not to be fast, yet it holds
// some millions of rows.
//
// One lock guards the whole store; a commit holds it alone. Rows are never
// changed once they are stored, so that a reader needs the lock only to find
// them. A Range finds each next row anew, and sees commits that happen while it
// runs.
package memory
