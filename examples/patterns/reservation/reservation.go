// Package reservation keeps a grid of rooms and nights, which is made empty: a stay takes its nights together, or none.
// Of two guests who want one night one is told ErrTaken. Where a night that is not in the grid can be asked for, use a
// record that is inserted instead, which needs no grid.
package reservation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/polystore/polystore/repo"
)

// ErrTaken says that another guest has one of the nights.
var ErrTaken = errors.New("the room is taken")

// A Night is a night in a room. It is free without a guest.
type Night struct {
	Room  string `repo:"room"`
	Date  string `repo:"date"` // such as 2026-11-27
	Guest string `repo:"guest"`
}

// Rooms are the rooms of a house.
type Rooms struct{ nights *repo.Repo[Night] }

// Open opens the rooms of a store.
func Open(ctx context.Context, store *repo.Store) (Rooms, error) {
	r, err := repo.Open[Night](ctx, store, repo.Schema{Collection: "nights", Partition: []string{"room"}, Sort: []string{"date"}})
	return Rooms{r}, err
}

// dates returns the nights between two days.
func dates(from, to time.Time) (list []string) {
	for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
		list = append(list, day.Format(time.DateOnly))
	}
	return list
}

// Make adds free nights of a room. Those that are there stay as they are.
func (r Rooms) Make(ctx context.Context, room string, from, to time.Time) error {
	for _, date := range dates(from, to) {
		if err := r.nights.Insert(ctx, &Night{Room: room, Date: date}); err != nil && !errors.Is(err, repo.ErrExists) {
			return err
		}
	}
	return nil
}

// Book takes all nights of a stay for a guest. Called again for the same guest it changes nothing.
func (r Rooms) Book(ctx context.Context, room string, from, to time.Time, guest string) error {
	g := r.nights.Store().Group()
	for _, date := range dates(from, to) {
		r.nights.In(g).Update(repo.Key{room, date}, func(n *Night) error {
			if n.Guest != "" && n.Guest != guest {
				return fmt.Errorf("%s: %w", date, ErrTaken)
			}
			n.Guest = guest
			return nil
		})
	}
	return g.Commit(ctx)
}

// Nights yields the nights of a room between two days, by one range.
func (r Rooms) Nights(ctx context.Context, room string, from, to time.Time) iter.Seq2[Night, error] {
	return r.nights.Find(ctx, repo.Where("room", room).AtLeast("date", from.Format(time.DateOnly)).Below("date", to.Format(time.DateOnly)))
}
