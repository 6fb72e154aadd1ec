package loadtest

import "github.com/polystore/polystore/loadtest/internal/failure"

// What Load and Run return as errors.
type (
	// A Fault is one mistake in a file. Its fields are the File; the Line from 1, 0 when the mistake is
	// about the whole file; the Column from 1, in characters, 0 when it is about the whole line; the
	// Source, which is that line; and the Text, which says what would be right. String has them all.
	Fault = failure.Fault

	// Faults are all mistakes that were found, in the order of their places. It is
	// an error.
	Faults = failure.Faults

	// A WrongAnswers error says that two models gave different answers to the same
	// call, or that an index does not agree with its records. Its Text is the first difference.
	WrongAnswers = failure.WrongAnswers

	// A StoreLost error says that a store stopped answering after the first operations
	// were measured. Run returns it together with what was measured before. Its fields are
	// the Store (a URL without secrets), When, and Err, the store's error.
	StoreLost = failure.StoreLost
)
