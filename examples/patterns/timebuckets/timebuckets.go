// Package timebuckets lists events of all sources by time. Each hour is a partition of its own, so that no partition
// grows for ever, and a range of time reads those of its hours. Hash buckets, Index.Buckets, spread writes of the same
// moment instead, and a range then reads all of them.
package timebuckets

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/polystore/polystore/repo"
)

const span = time.Hour

// An Event is found by its ID, and among all events by its time.
type Event struct {
	ID   string    `repo:"id"`
	At   time.Time `repo:"at"`
	Hour time.Time `repo:"hour"` // in which it is, set when it is written
	Text string    `repo:"text"`
}

// Derive sets the hour.
func (e *Event) Derive() error {
	e.Hour = e.At.UTC().Truncate(span)
	return nil
}

// Events are the events of a store.
type Events struct{ *repo.Repo[Event] }

// Open opens the events of a store.
func Open(ctx context.Context, store *repo.Store) (Events, error) {
	r, err := repo.Open[Event](ctx, store, repo.Schema{
		Collection: "events", Partition: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"hour"}, Sort: []string{"-at"}}},
	})
	return Events{r}, err
}

// Between yields the events from a time, and before another one, the newest first. The hours are read at the same time.
// More than 1,000 hours are ErrInvalid: ask for a part at a time.
func (e Events) Between(ctx context.Context, from, to time.Time) iter.Seq2[Event, error] {
	var hours []any
	for at := from.UTC().Truncate(span); at.Before(to) && len(hours) <= 1000; at = at.Add(span) {
		hours = append(hours, at)
	}
	if len(hours) > 1000 {
		return func(yield func(Event, error) bool) {
			yield(Event{}, fmt.Errorf("from %s to %s are more than 1,000 hours: %w", from, to, repo.ErrInvalid))
		}
	}
	return e.Find(ctx, repo.All().AnyOf("hour", hours...).Range("at", from, to).Order("-at"))
}
