package repo

import (
	"context"
	"time"

	"github.com/polystore/polystore/repo/internal/catalog"
)

// An IndexState is an index of a collection as the store has it, and how far it is.
type IndexState struct {
	Index

	// State is what programs do with the index. "ready" is all: they keep it in step, and ask it. Before that come
	// "declared", when they remove rows and add none, and "written", when they keep it in step and one of them adds the
	// rows of older records; or "building", when the store makes it. After it come "leaving", when nobody asks it any
	// more, and "gone", when nobody keeps it in step either, and its table is being removed.
	State string

	// Since is when the index came to State, by the clock of the program that changed it; zero if it is "ready".
	Since time.Time

	// Filled is how many records were read so far in order to add their rows.
	Filled int

	// Refused says why the index could not be built, and was removed. State is "" then, and so is Index but its name.
	Refused string
}

// IndexStates returns the indexes of a collection, those of all programs, and those that could not be built. A collection
// that is not there is ErrNotFound.
func IndexStates(ctx context.Context, store *Store, collection string) ([]IndexState, error) {
	if err := given(ctx, store); err != nil {
		return nil, &Error{Op: "index states", Collection: collection, Err: err}
	}
	ctx, k := store.handle.Begin(ctx, "index states", collection)
	defer k.Leave()
	list, err := catalog.IndexesOf(ctx, &store.handle, &k, collection)
	if err != nil {
		return nil, k.End(&Error{Op: k.Op, Collection: collection, Err: store.Redact(err)})
	}
	states := make([]IndexState, len(list))
	for i := range list {
		states[i] = IndexState{Index: Index(list[i].IndexSchema), State: list[i].State, Filled: list[i].Filled, Refused: list[i].Refused}
		if at := list[i].At; at != 0 {
			states[i].Since = time.UnixMilli(at).UTC()
		}
	}
	return states, k.End(nil)
}
