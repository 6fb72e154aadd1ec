package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// Forget removes an index whose table is gone, and keeps why, unless that is nil. One that is added under its name has
// another table.
func (e *Entry) Forget(name string, why error) {
	if e.Refused == nil {
		e.Refused = map[string]Refusal{}
	}
	delete(e.Refused, name)
	if why != nil {
		e.Refused[name] = refusalOf(why)
	}
	if e.Turns == nil {
		e.Turns = map[string]int{}
	}
	for _, x := range e.Indexes {
		if x.Name == name {
			e.Turns[name] = x.Turn + 1
		}
	}
	e.Indexes = slices.DeleteFunc(e.Indexes, func(x IndexEntry) bool { return x.Name == name })
}

// A Refusal says why an index could not be built.
type Refusal struct {
	Text  string `json:"text"`
	Taken bool   `json:"taken,omitempty"` // two records have one value of a unique index
}

func refusalOf(err error) Refusal {
	taken := errors.Is(err, driver.ErrExists)
	return Refusal{strings.TrimSuffix(err.Error(), ": "+kindOf(taken).Error()), taken}
}

func (r Refusal) err() error {
	return fmt.Errorf("it could not be built: %s: %w", r.Text, kindOf(r.Taken))
}

func kindOf(taken bool) error {
	if taken {
		return driver.ErrExists
	}
	return driver.ErrInvalid
}
