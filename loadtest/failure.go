package loadtest

import "github.com/polystore/polystore/loadtest/internal/failure"

// What Load and Run return as errors.
type (
	// A Fault is one mistake in a file, with its place and what would be right.
	Fault = failure.Fault

	// Faults are all mistakes that were found, in the order of their places. It is
	// an error.
	Faults = failure.Faults

	// A WrongAnswers error says that two models gave different answers to the same
	// call, or that an index does not agree with its records.
	WrongAnswers = failure.WrongAnswers

	// A StoreLost error says that a store stopped answering after the first operations
	// were measured. Run returns it together with what was measured before.
	StoreLost = failure.StoreLost
)
