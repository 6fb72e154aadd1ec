package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/store"
)

// mostNamed is how many rows an error names that kept nobody from the others.
const mostNamed = 10

// Faults are the errors of single rows, which say nothing of others.
type Faults struct {
	named []error
	more  bool // than are named
}

// add takes err unless one with its text is there.
func (f *Faults) add(err error) {
	switch {
	case slices.ContainsFunc(f.named, func(old error) bool { return old.Error() == err.Error() }):
	case len(f.named) == mostNamed:
		f.more = true
	default:
		f.named = append(f.named, err)
	}
}

// Of takes the error of a row of a table.
func (f *Faults) Of(c *layout.Layout, t *driver.Table, key driver.Key, err error) {
	if k, ok := errors.AsType[*failure.Keyed](err); ok {
		err = k.Err // the text says which
	}
	what := "record " + c.PrintText(key)
	if t != c.Records {
		what = fmt.Sprintf("row %s of %s", c.Quote(key), t.Name)
	}
	f.add(fmt.Errorf("%s: %w", what, err))
}

// Unread takes the errors of what a walk could not read. It returns any other error.
func (f *Faults) Unread(err error) error {
	rows, ok := errors.AsType[driver.Unread](err)
	for _, row := range rows {
		f.add(row)
	}
	if ok {
		return nil
	}
	return err
}

// With returns the error of a call that had f, and perhaps ended by err.
func (f *Faults) With(err error) error {
	if len(f.named) == 0 {
		return err
	}
	few := "these rows cannot be dealt with, others are not affected"
	if f.more {
		few = fmt.Sprintf("more than %d rows cannot be dealt with, others are not affected; the first are", mostNamed)
	}
	rows := fmt.Errorf("%s: %w", few, driver.Unread(f.named))
	if err == nil {
		return rows
	}
	return fmt.Errorf("%w; and before that: %w", err, rows)
}

// IsOfRow reports whether what is wrong is the row itself, or one that stands against it,
// and not the store.
func IsOfRow(err error) bool {
	for _, kind := range []error{driver.ErrCorrupt, layout.ErrMisfit, driver.ErrConflict, driver.ErrExists, driver.ErrInvalid, driver.ErrTooLarge} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// Each calls do for every row of a table. Rows that cannot be read, and those with which do
// fails because of what they are, become faults and keep nobody from the others.
func (c *Reader) Each(ctx context.Context, k *store.Call, f *Faults, t *driver.Table, do func(*driver.Row) error) error {
	return c.EachChunk(ctx, k, f, t, func(rows []driver.Row) error {
		for i := range rows {
			if err := f.Take(c.Layout, t, rows[i].Key, do(&rows[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// EachChunk is each for all rows of a chunk at once.
func (c *Reader) EachChunk(ctx context.Context, k *store.Call, f *Faults, t *driver.Table, do func([]driver.Row) error) error {
	from, ahead := k.Way.From(t)
	if !ahead {
		return nil
	}
	for chunk, err := range c.Store.Driver.Walk(k.Walks(ctx), t, from) {
		k.Got(len(chunk.Rows))
		if err := f.Unread(err); err != nil {
			k.Way.Judge(from, err)
			return err
		}
		if err := k.Way.Through(ctx, t, &chunk, len(chunk.Rows), do); err != nil {
			return err
		}
		from = "" // the store knew it
	}
	return nil
}

// Take makes an error that is about the row of a key a fault, and returns any other.
func (f *Faults) Take(c *layout.Layout, t *driver.Table, key driver.Key, err error) error {
	if err == nil || !IsOfRow(err) {
		return err
	}
	f.Of(c, t, key, err)
	return nil
}
