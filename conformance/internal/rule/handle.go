package rule

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// On returns an env of the rule on another handle. It makes no names.
func (e *Env) On(store driver.Store) *Env {
	s := &Suite{Open: e.Open, Store: store, Facts: store.Facts(), Repo: repo.NewStore(store, nil), ID: e.ID, Limit: e.Limit, Tables: e.Tables, shared: map[string]*sharing{}}
	return &Env{Suite: s, Tag: e.Tag, Base: e.Base, dog: e.dog}
}

// Second opens the store once more. The caller closes it.
func (e *Env) Second(ctx context.Context) *Env {
	store, err := e.Open(ctx)
	e.OK("open of a store that is open", err)
	return e.On(store)
}

// WithSecond calls check with a second handle that knows the tables of the suite.
func (e *Env) WithSecond(ctx context.Context, check func(two *Env)) {
	two := e.Second(ctx)
	defer two.Store.Close()
	e.OK("attach by the second handle", two.Store.Attach(ctx, e.Tables.All(e.Facts)))
	check(two)
	e.OK("close of the second handle", two.Store.Close())
}

// Opened opens the store for the rule and defines a table.
func (e *Env) Opened(ctx context.Context) (driver.Store, *driver.Table) {
	store, err := e.Open(ctx)
	e.OK("open", err)
	t := table.Named(fmt.Sprintf("%s.t%d", e.ID, e.Number()))
	if err := store.Define(ctx, []*driver.Table{t}); err != nil {
		store.Close()
		e.OK("define", err)
	}
	return store, t
}

// Reopened opens the store again, lets fn look at it, and drops the table.
func (e *Env) Reopened(ctx context.Context, t *driver.Table, fn func(store driver.Store)) {
	store, err := e.Open(ctx)
	e.OK("open again", err)
	defer store.Close()
	defer func() { _ = store.Drop(ctx, []*driver.Table{t}) }()
	if fn != nil {
		fn(store)
	}
}
