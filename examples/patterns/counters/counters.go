// Package counters keeps several counters for each page and day, which vanish after a time. A count is one request on
// most stores, and no count is lost beside others. Pages that are counted thousands of times a second are for package
// approximation.
package counters

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/polystore/polystore/repo"
)

// A Day is what was counted of a page on one day.
type Day struct {
	Page  string    `repo:"page"`
	Date  string    `repo:"date"` // such as 2026-11-27
	Views int64     `repo:"views"`
	Likes int64     `repo:"likes"`
	Until time.Time `repo:",expires"`
}

// Counters count by page and day.
type Counters struct {
	days *repo.Repo[Day]
	keep time.Duration
}

// Open opens counters that are kept for a time after their day began.
func Open(ctx context.Context, store *repo.Store, keep time.Duration) (Counters, error) {
	r, err := repo.Open[Day](ctx, store, repo.Schema{Collection: "page_days", Partition: []string{"page"}, Sort: []string{"-date"}})
	return Counters{r, keep}, err
}

// Count adds to a counter, "views" or "likes", of the day of a time. A day that is not kept any more counts nothing.
func (c Counters) Count(ctx context.Context, page string, at time.Time, counter string, n int64) error {
	day := at.UTC().Truncate(24 * time.Hour)
	until := day.Add(c.keep)
	if time.Until(until) <= 0 {
		return nil
	}
	key := repo.Key{page, day.Format(time.DateOnly)}
	_, err := c.days.Patch(ctx, key, repo.Add(counter, n))
	if !errors.Is(err, repo.ErrNotFound) {
		return err
	}
	err = c.days.Insert(ctx, &Day{Page: page, Date: day.Format(time.DateOnly), Until: until})
	if err != nil && !errors.Is(err, repo.ErrExists) {
		return err
	}
	_, err = c.days.Patch(ctx, key, repo.Add(counter, n))
	return err
}

// Days yields the days of a page with all their counters, the newest first.
func (c Counters) Days(ctx context.Context, page string) iter.Seq2[Day, error] {
	return c.days.Find(ctx, repo.Where("page", page))
}
