package repo

import (
	"context"
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

	began time.Time
	rows  int
	saved time.Time
}

// saveEvery is how often it is noted how far an upkeep has come.
const saveEvery = 5 * time.Second

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

// pass notes that some rows of a table are done, up to a mark, and waits as long as its rate
// wants it to.
func (w *way) pass(ctx context.Context, t *driver.Table, mark string, rows int) error {
	if w == nil {
		return nil
	}
	now := time.Now()
	if w.began.IsZero() {
		w.began, w.saved = now, now
	}
	w.rows += rows
	if mark != "" {
		w.note(t.Name, mark)
	}
	if now.Sub(w.saved) >= saveEvery {
		if err := w.save(ctx); err != nil {
			return err
		}
		w.saved = now
	}
	if w.rate <= 0 {
		return nil
	}
	due := w.began.Add(time.Duration(float64(w.rows) / float64(w.rate) * float64(time.Second)))
	return sleepUntil(ctx, due)
}

// sleepUntil waits for a time.
func sleepUntil(ctx context.Context, due time.Time) error {
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", driver.ErrTimeout, ctx.Err())
	}
}
