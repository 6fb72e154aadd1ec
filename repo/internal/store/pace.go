package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Way is how far an upkeep has come in a collection. It goes at a rate, and saves now and then
// where it is, so that another one can go on from there. A nil way does neither.
type Way struct {
	Table string                          // at which it is; those before it are done
	Mark  string                          // and behind what
	Rate  int                             // rows a second, any number if it is not above 0
	Note  func(table, mark string)        // where it is
	Save  func(ctx context.Context) error // what was noted, for another one

	Lost  bool      // the store does not know the mark
	due   time.Time // when what was done is what the rate allows
	saved time.Time
}

const (
	saveEvery  = 5 * time.Second // how often it is noted how far an upkeep has come
	catchesUp  = time.Second     // how much time a slow store is made up for
	rowsOfStep = 256             // how many rows are dealt with at most before the rate is looked at
)

// Start begins it now.
func (w *Way) Start() { w.due, w.saved = time.Now(), time.Now() }

// From returns from where on a table is to be walked; ahead is false if it is done.
func (w *Way) From(t *driver.Table) (mark string, ahead bool) {
	switch {
	case w == nil || w.Table == "":
		return "", true
	case w.Table != t.Name:
		return "", false
	}
	mark, w.Table, w.Mark = w.Mark, "", "" // what comes after it is ahead
	return mark, true
}

// Judge notes whether an error says that the store does not know a mark that it was given.
func (w *Way) Judge(mark string, err error) {
	if w != nil && mark != "" && errors.Is(err, driver.ErrInvalid) {
		w.Lost = true
	}
}

// Through calls do with the rows of a chunk, some at a time, and waits as long as the rate wants
// it to for all that were read. When they are done it is behind the chunk.
func (w *Way) Through(ctx context.Context, t *driver.Table, c *driver.Chunk, read int, do func([]driver.Row) error) error {
	if w == nil {
		return do(c.Rows)
	}
	for rows := c.Rows; ; {
		n := min(len(rows), rowsOfStep)
		if w.Rate > 0 {
			n = min(n, w.Rate)
		}
		if err := do(rows[:n]); err != nil {
			return err
		}
		rows, read = rows[n:], read-n
		if len(rows) > 0 {
			if err := w.wait(ctx, n); err != nil {
				return err
			}
			continue
		}
		if c.Mark != "" {
			w.Note(t.Name, c.Mark)
		}
		return w.wait(ctx, n+max(0, read))
	}
}

// wait waits as long as so many rows take at the rate, and saves meanwhile what was noted.
func (w *Way) wait(ctx context.Context, rows int) error {
	now := time.Now()
	if earliest := now.Add(-catchesUp); w.due.Before(earliest) {
		w.due = earliest
	}
	if w.Rate > 0 {
		w.due = w.due.Add(time.Duration(float64(rows) / float64(w.Rate) * float64(time.Second)))
	}
	for {
		if now.Sub(w.saved) >= saveEvery {
			if err := w.Save(ctx); err != nil {
				return err
			}
			w.saved = now
		}
		if !now.Before(w.due) {
			return nil
		}
		next := w.saved.Add(saveEvery)
		if w.due.Before(next) {
			next = w.due
		}
		if err := SleepUntil(ctx, next); err != nil {
			return err
		}
		now = time.Now()
	}
}

// SleepUntil waits for a time.
func SleepUntil(ctx context.Context, due time.Time) error {
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", driver.ErrTimeout, context.Cause(ctx))
	}
}
