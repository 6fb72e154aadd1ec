package rule

import (
	"context"

	"github.com/polystore/polystore/repo"
)

// A sharing is a repository that rules share, of which one at a time may open it.
type sharing struct {
	turn chan struct{}
	repo any // nil until it is open
}

// sharing returns that of a collection.
func (s *Suite) sharing(collection string) *sharing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared[collection] == nil {
		s.shared[collection] = &sharing{turn: make(chan struct{}, 1)}
		s.opened = append(s.opened, collection)
	}
	return s.shared[collection]
}

// Shared returns the repository on a collection that all rules share.
func Shared[T any](ctx context.Context, h Holder, schema repo.Schema) *repo.Repo[T] {
	e := h.env()
	schema.Collection = e.ID + "_" + schema.Collection
	sh := e.sharing(schema.Collection)
	select {
	case sh.turn <- struct{}{}:
		defer func() { <-sh.turn }()
	case <-ctx.Done():
		e.Broken("open "+schema.Collection+" to return, which another rule has begun", "nothing: %v", ctx.Err())
	}
	if sh.repo == nil {
		r, err := repo.Open[T](ctx, e.Repo, schema)
		e.OK("open "+schema.Collection, err)
		sh.repo = r
	}
	return sh.repo.(*repo.Repo[T])
}

// Fresh returns a repository on a new collection with a schema.
func Fresh[T any](ctx context.Context, h Holder, schema repo.Schema) *repo.Repo[T] {
	e := h.env()
	schema.Collection = e.FreshName()
	r, err := repo.Open[T](ctx, e.Repo, schema)
	e.OK("open "+schema.Collection, err)
	return r
}
