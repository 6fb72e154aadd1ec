package failure

import (
	"errors"

	"github.com/polystore/polystore/repo"
)

// Causes returns the faults that the library joined into one error.
func Causes(err error) []error {
	if err == nil {
		return nil
	}
	var e *repo.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		return many.Unwrap()
	}
	return []error{err}
}
