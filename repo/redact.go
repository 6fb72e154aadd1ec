package repo

import (
	"errors"

	"github.com/polystore/polystore/repo/driver"
)

// A redacted error has a text without keys and values. What it is, errors.Is and errors.As tell;
// it is not unwrapped, since the texts of what it wraps are not redacted.
type redacted struct {
	text string
	err  error
}

func (e *redacted) Error() string        { return e.text }
func (e *redacted) Is(target error) bool { return errors.Is(e.err, target) }
func (e *redacted) As(target any) bool   { return errors.As(e.err, target) }

// redact returns err as it may be shown: as it is, or redacted if the options say so.
func (s *Store) redact(err error) error {
	if !s.opts.Redact {
		return err
	}
	return &redacted{driver.Redact(err), err}
}
