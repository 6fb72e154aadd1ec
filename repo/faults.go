package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// mostNamed is how many rows an error names that kept nobody from the others.
const mostNamed = 10

// faults are the errors of single rows, which say nothing of others.
type faults struct {
	named []error
	more  bool // than are named
}

// add takes err unless one with its text is there.
func (f *faults) add(err error) {
	switch {
	case slices.ContainsFunc(f.named, func(old error) bool { return old.Error() == err.Error() }):
	case len(f.named) == mostNamed:
		f.more = true
	default:
		f.named = append(f.named, err)
	}
}

// of takes the error of a row of a table.
func (f *faults) of(c *collection, t *driver.Table, key driver.Key, err error) {
	if k, ok := errors.AsType[*keyed](err); ok {
		err = k.err // the text says which
	}
	what := "record " + c.printText(key)
	if t != c.records {
		what = fmt.Sprintf("row %s of %s", c.quote(key), t.Name)
	}
	f.add(fmt.Errorf("%s: %w", what, err))
}

// unread takes the errors of what a walk could not read. It returns any other error.
func (f *faults) unread(err error) error {
	rows, ok := errors.AsType[driver.Unread](err)
	for _, row := range rows {
		f.add(row)
	}
	if ok {
		return nil
	}
	return err
}

// with returns the error of a call that had f, and perhaps ended by err.
func (f *faults) with(err error) error {
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

// isOfRow reports whether what is wrong is the row itself, or one that stands against it,
// and not the store.
func isOfRow(err error) bool {
	for _, kind := range []error{ErrCorrupt, errMisfit, ErrConflict, ErrExists, ErrInvalid, ErrTooLarge} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// each calls do for every row of a table. Rows that cannot be read, and those with which do
// fails because of what they are, become faults and keep nobody from the others.
func (c *collection) each(ctx context.Context, k *call, f *faults, t *driver.Table, do func(*driver.Row) error) error {
	return c.eachChunk(ctx, k, f, t, func(rows []driver.Row) error {
		for i := range rows {
			if err := f.take(c, t, rows[i].Key, do(&rows[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachChunk is each for all rows of a chunk at once.
func (c *collection) eachChunk(ctx context.Context, k *call, f *faults, t *driver.Table, do func([]driver.Row) error) error {
	from, ahead := k.way.from(t)
	if !ahead {
		return nil
	}
	for chunk, err := range c.store.driver.Walk(k.walks(ctx), t, from) {
		k.got(len(chunk.Rows))
		if err := f.unread(err); err != nil {
			k.way.judge(from, err)
			return err
		}
		if err := k.way.through(ctx, t, &chunk, len(chunk.Rows), do); err != nil {
			return err
		}
		from = "" // the store knew it
	}
	return nil
}

// take makes an error that is about the row of a key a fault, and returns any other.
func (f *faults) take(c *collection, t *driver.Table, key driver.Key, err error) error {
	if err == nil || !isOfRow(err) {
		return err
	}
	f.of(c, t, key, err)
	return nil
}
