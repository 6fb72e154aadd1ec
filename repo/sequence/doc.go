// Package sequence hands out numbers: 1, 2, 3 and so on, each at most once, whoever asks, on every store that has a
// backend.
//
// A [Collection] keeps the state of named sequences, a record of package repo for each. A [Sequence] takes numbers by
// a write of this record, one number or a block of them, and hands them out. The record says which number is the next
// that nobody has taken.
//
// What holds on every store:
//
//   - Unique: no number is handed out twice. That holds between goroutines, programs and machines, after a crash and
//     after a write whose outcome is unknown. The exception is [Sequence.Reuse], which is there to break it.
//   - Ordered: one Sequence hands out ascending numbers. With blocks of 1 all of them together do so: a number is
//     greater than every number that was handed out anywhere before it was asked for.
//   - Not without gaps: a number is skipped when a program ends with numbers in hand, when the answer of a write is
//     lost, or when a caller no longer waits for its number.
//
// Callers of one Sequence that wait at the same time share one write, which takes a number for each of them. A caller
// whose context ends leaves, and the others go on.
//
// The record before or after a number is an ordinary query of package repo, as the example shows.
//
// Errors are those of package repo, and [ErrExhausted].
package sequence
