package store

import (
	"context"
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

	began time.Time
	rows  int
	saved time.Time
}

// saveEvery is how often it is noted how far an upkeep has come.
const saveEvery = 5 * time.Second

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

// Pass notes that some rows of a table are done, up to a mark, and waits as long as its rate
// wants it to.
func (w *Way) Pass(ctx context.Context, t *driver.Table, mark string, rows int) error {
	if w == nil {
		return nil
	}
	now := time.Now()
	if w.began.IsZero() {
		w.began, w.saved = now, now
	}
	w.rows += rows
	if mark != "" {
		w.Note(t.Name, mark)
	}
	if now.Sub(w.saved) >= saveEvery {
		if err := w.Save(ctx); err != nil {
			return err
		}
		w.saved = now
	}
	if w.Rate <= 0 {
		return nil
	}
	due := w.began.Add(time.Duration(float64(w.rows) / float64(w.Rate) * float64(time.Second)))
	return SleepUntil(ctx, due)
}

// SleepUntil waits for a time.
func SleepUntil(ctx context.Context, due time.Time) error {
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", driver.ErrTimeout, ctx.Err())
	}
}
