package repo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A way is how far an upkeep has come in a collection. It goes at a rate, and saves now and then
// where it is, so that another one can go on from there. A nil way does neither.
type way struct {
	table string                          // at which it is; those before it are done
	mark  string                          // and behind what
	rate  int                             // rows a second, any number if it is not above 0
	note  func(table, mark string)        // where it is
	save  func(ctx context.Context) error // what was noted, for another one

	lost  bool      // the store does not know the mark
	due   time.Time // when what was done is what the rate allows
	saved time.Time
}

const (
	saveEvery  = 5 * time.Second // how often it is noted how far an upkeep has come
	catchesUp  = time.Second     // how much time a slow store is made up for
	rowsOfStep = 256             // how many rows are dealt with at most before the rate is looked at
)

// from returns from where on a table is to be walked; ahead is false if it is done.
func (w *way) from(t *driver.Table) (mark string, ahead bool) {
	switch {
	case w == nil || w.table == "":
		return "", true
	case w.table != t.Name:
		return "", false
	}
	mark, w.table, w.mark = w.mark, "", "" // what comes after it is ahead
	return mark, true
}

// judge notes whether an error says that the store does not know a mark that it was given.
func (w *way) judge(mark string, err error) {
	if w != nil && mark != "" && errors.Is(err, ErrInvalid) {
		w.lost = true
	}
}

// through calls do with the rows of a chunk, some at a time, and waits as long as the rate wants
// it to for all that were read. When they are done it is behind the chunk.
func (w *way) through(ctx context.Context, t *driver.Table, c *driver.Chunk, read int, do func([]driver.Row) error) error {
	if w == nil {
		return do(c.Rows)
	}
	for rows := c.Rows; ; {
		n := min(len(rows), rowsOfStep)
		if w.rate > 0 {
			n = min(n, w.rate)
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
			w.note(t.Name, c.Mark)
		}
		return w.wait(ctx, n+max(0, read))
	}
}

// wait waits as long as so many rows take at the rate, and saves meanwhile what was noted.
func (w *way) wait(ctx context.Context, rows int) error {
	now := time.Now()
	if earliest := now.Add(-catchesUp); w.due.Before(earliest) {
		w.due = earliest
	}
	if w.rate > 0 {
		w.due = w.due.Add(time.Duration(float64(rows) / float64(w.rate) * float64(time.Second)))
	}
	for {
		if now.Sub(w.saved) >= saveEvery {
			if err := w.save(ctx); err != nil {
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
		if err := sleepUntil(ctx, next); err != nil {
			return err
		}
		now = time.Now()
	}
}

// sleepUntil waits for a time.
func sleepUntil(ctx context.Context, due time.Time) error {
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrTimeout, context.Cause(ctx))
	}
}
