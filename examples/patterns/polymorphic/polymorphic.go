// Package polymorphic keeps several types in one collection, told apart by a field. What another program has put with a
// type that this one does not know is returned as it is, and is kept when it is written back.
package polymorphic

import (
	"context"

	"github.com/polystore/polystore/repo"
)

// An Event is a record as it is stored: fields that all types have, and the others by name.
type Event struct {
	Account string         `repo:"account"`
	ID      string         `repo:"id"`
	Type    string         `repo:"type"`
	Fields  map[string]any `repo:",extra"`
	Version repo.Version   `repo:",version"`
}

// A Deposit is an event of the type "deposit".
type Deposit struct{ Cents int64 }

// A Note is an event of the type "note".
type Note struct{ Text string }

// Of makes an event of a value.
func Of(account, id string, value any) Event {
	e := Event{Account: account, ID: id}
	switch v := value.(type) {
	case Deposit:
		e.Type, e.Fields = "deposit", map[string]any{"cents": v.Cents}
	case Note:
		e.Type, e.Fields = "note", map[string]any{"text": v.Text}
	}
	return e
}

// Value returns a Deposit or a Note, and the event itself for a type that is not known or has other fields than it did.
func (e Event) Value() any {
	switch e.Type {
	case "deposit":
		if cents, ok := e.Fields["cents"].(int64); ok {
			return Deposit{cents}
		}
	case "note":
		if text, ok := e.Fields["text"].(string); ok {
			return Note{text}
		}
	}
	return e
}

// Open opens the events of a store. Those of one type are found by an index.
func Open(ctx context.Context, store *repo.Store) (*repo.Repo[Event], error) {
	return repo.Open[Event](ctx, store, repo.Schema{
		Collection: "events", Partition: []string{"account"}, Sort: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"account", "type"}}},
	})
}
