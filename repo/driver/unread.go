package driver

import (
	"fmt"
	"strings"
)

// Unread is the error of a chunk of a walk for rows that are there and cannot be read:
// another program wrote them, say. Each of its errors names one row, and wraps ErrCorrupt.
type Unread []error

// unreadNamed is how many rows the text of an Unread names.
const unreadNamed = 10

// Error returns the texts of the first errors, and how many there are beside them.
func (u Unread) Error() string {
	var b strings.Builder
	for i, err := range u[:min(len(u), unreadNamed)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(err.Error())
	}
	if more := len(u) - unreadNamed; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// Unwrap returns the errors.
func (u Unread) Unwrap() []error { return u }

// Err returns u, or nil if there is no error in it.
func (u Unread) Err() error {
	if len(u) == 0 {
		return nil
	}
	return u
}
