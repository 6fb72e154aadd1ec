package failure

import "fmt"

// A WrongAnswers error says that two models gave different answers to the same
// call, or that an index does not agree with its records.
type WrongAnswers struct{ Text string }

// Error returns the first difference.
func (e *WrongAnswers) Error() string { return "wrong answers: " + e.Text }

// A StoreLost error says that a store stopped answering after the first operations
// were measured. Run returns it together with what was measured before.
type StoreLost struct {
	Store string // its URL, without secrets
	When  string
	Err   error
}

// Error returns which store it was, when, and what its last answer was.
func (e *StoreLost) Error() string {
	return fmt.Sprintf("%s stopped answering %s: %v", e.Store, e.When, e.Err)
}

// Unwrap returns the store's error.
func (e *StoreLost) Unwrap() error { return e.Err }
