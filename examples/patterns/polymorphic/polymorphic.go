// Package polymorphic keeps several types in one collection, told apart by a field. What another program has put with a
// type that this one does not know is returned as Other, and is kept when it is written back.
package polymorphic

import (
	"context"

	"github.com/polystore/polystore/repo"
)

// An Event is a *Deposit, a *Note, or an *Other.
type Event interface{ Of() *Head }

// A Head is what all events have.
type Head struct {
	Account string       `repo:"account"`
	ID      string       `repo:"id"`
	Type    string       `repo:"type"` // set when the event is written
	Version repo.Version `repo:",version"`
}

// Of returns the head of an event.
func (h *Head) Of() *Head { return h }

// A Deposit is an event of the type "deposit".
type Deposit struct {
	Head
	Cents int64 `repo:"cents"`
}

// A Note is an event of the type "note".
type Note struct {
	Head
	Text string `repo:"text"`
}

// An Other is an event of a type that this program does not know.
type Other struct {
	Head
	Fields map[string]any `repo:",extra"`
}

// Open opens the events of a store. Those of one type are found by an index.
func Open(ctx context.Context, store *repo.Store) (*repo.Repo[Event], error) {
	return repo.Open[Event](ctx, store, repo.Schema{
		Collection: "events", Partition: []string{"account"}, Sort: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"account", "type"}}},
		Types:   repo.Types{Field: "type", Of: map[string]any{"deposit": Deposit{}, "note": Note{}, "": Other{}}},
	})
}
