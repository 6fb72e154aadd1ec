// Package turn lets the writers of one program have their turn at a record, one after the other.
// Keys come in; a writer waits, or goes on.
package turn
