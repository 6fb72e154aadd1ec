package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// Forget removes an index whose table is gone, and keeps why, redacted or not, unless that is nil. One that is added under
// its name has another table.
func (e *Entry) Forget(name string, why error, redacted bool) {
	if e.Refused == nil {
		e.Refused = map[string]Refusal{}
	}
	delete(e.Refused, name)
	if why != nil {
		e.Refused[name] = refusalOf(why, redacted)
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
	Text     string `json:"text"`
	Redacted string `json:"redacted"`        // the text without keys and values
	Taken    bool   `json:"taken,omitempty"` // two records have one value of a unique index
}

// refusalOf keeps no key and no value if it is redacted.
func refusalOf(err error, redacted bool) Refusal {
	taken := errors.Is(err, driver.ErrExists)
	cut := func(text string) string { return strings.TrimSuffix(text, ": "+kindOf(taken).Error()) }
	r := Refusal{cut(err.Error()), cut(driver.Redact(err)), taken}
	if redacted {
		r.Text = r.Redacted
	}
	return r
}

func (r Refusal) err() error {
	return fmt.Errorf("it could not be built: %w: %w", driver.Hide(errors.New(r.Text), r.Redacted), kindOf(r.Taken))
}

func kindOf(taken bool) error {
	if taken {
		return driver.ErrExists
	}
	return driver.ErrInvalid
}
