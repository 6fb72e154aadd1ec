package rule

import (
	"context"

	"github.com/polystore/polystore/repo"
)

// A sharing is what rules share, of which one at a time may open it.
type sharing struct {
	turn   chan struct{}
	opened any // nil until it is
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
	return SharedAs(ctx, h, schema.Collection, func(name string) (*repo.Repo[T], error) {
		schema.Collection = name
		return repo.Open[T](ctx, h.env().Repo, schema)
	})
}

// SharedAs returns what one rule opens on a collection, and all rules share.
func SharedAs[V any](ctx context.Context, h Holder, collection string, open func(name string) (V, error)) V {
	e := h.env()
	name := e.ID + "_" + collection
	sh := e.sharing(name)
	select {
	case sh.turn <- struct{}{}:
		defer func() { <-sh.turn }()
	case <-ctx.Done():
		e.Broken("open "+name+" to return, which another rule has begun", "nothing: %v", ctx.Err())
	}
	if sh.opened == nil {
		v, err := open(name)
		e.OK("open "+name, err)
		sh.opened = v
	}
	return sh.opened.(V)
}

// Fresh returns a repository on a new collection with a schema.
func Fresh[T any](ctx context.Context, h Holder, schema repo.Schema) *repo.Repo[T] {
	e := h.env()
	schema.Collection = e.FreshName()
	r, err := repo.Open[T](ctx, e.Repo, schema)
	e.OK("open "+schema.Collection, err)
	return r
}
