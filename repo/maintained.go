package repo

import (
	"context"
	"slices"
	"sync"

	"github.com/polystore/polystore/repo/internal/catalog"
)

// maintained are the collections that upkeep has opened. All upkeeps of a store share them, because a
// backend keeps what it knows of a table until it is closed: so each collection is opened once.
type maintained struct {
	mu    sync.Mutex
	store *Store
	repos map[string]*collection // by name
}

// of makes the store on which collections are opened as maps. Where other programs may change
// their schemas it is one of its own: what it finds new is nothing to the repositories that
// are open.
func (h *maintained) of(s *Store) *maintained {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.store == nil {
		h.store, h.repos = s, map[string]*collection{}
		if !s.handle.Facts.OneProcess {
			h.store = s.another()
		}
	}
	return h
}

// open returns a collection as an entry of the catalog has it.
func (h *maintained) open(ctx context.Context, e *catalog.Entry) (*collection, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.repos[e.Collection]; c != nil && c.Gone() == nil && c.Epoch() == e.Epoch {
		return c, nil
	}
	schema, err := SchemaOf(ctx, h.store, e.Collection)
	if err != nil {
		return nil, err
	}
	schema.Indexes = slices.DeleteFunc(schema.Indexes, func(x Index) bool { return e.IsBuilding(x.Name) }) // which the store could not make, or makes
	r, err := Open[map[string]any](ctx, h.store, schema, WithoutDefine())
	if err != nil {
		return nil, err
	}
	c := r.on().c
	h.repos[e.Collection] = c
	return c, nil
}

// close forgets a collection that is to be opened again.
func (h *maintained) close(c *collection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.repos[c.Name] == c {
		delete(h.repos, c.Name)
	}
}

// end ends what the store of the upkeeps does beside its calls. None is under way.
func (h *maintained) end(s *Store) {
	if h.store != nil && h.store != s {
		h.store.handle.Background.Close()
		h.store.cleaner.Close()
	}
}
