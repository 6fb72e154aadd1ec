// Package change turns the difference between two states of a record into the ops of a commit.
// Records as they were and as they are to be come in; ops go out, with the rows that lie elsewhere apart from them.
package change
