package repo

import "fmt"

// A BatchError says which records of [Repo.InsertAll], PutAll, DeleteAll or PatchAll were not written.
type BatchError struct {
	Done   int       // how many records were written
	Failed []Failure // the records that were not, in order; at most 100
	More   int       // how many more were not
}

// A Failure is one record that was not written.
type Failure struct {
	Index int // in the sequence, from 0
	Err   error
}

// Error returns the numbers and the first failure.
func (e *BatchError) Error() string {
	text := fmt.Sprintf("%d records written, %d not", e.Done, len(e.Failed)+e.More)
	if len(e.Failed) == 0 {
		return text
	}
	return fmt.Sprintf("%s; the first, record %d: %v", text, e.Failed[0].Index, e.Failed[0].Err)
}

// Unwrap returns the failures' errors.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f.Err
	}
	return errs
}

// add takes failures that come after those before.
func (e *BatchError) add(failed []Failure) {
	room := min(len(failed), 100-len(e.Failed))
	e.Failed = append(e.Failed, failed[:room]...)
	e.More += len(failed) - room
}
