package tree

import (
	"context"
	"iter"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An imagined store has the facts of another one, and no rows but those that are put there: so a forest is opened on it,
// and its queries are explained, without a request to the other.
type imagined struct {
	facts driver.Facts
	rows  map[string]driver.Row
}

// imaginedBy returns an imagined store that is like another.
func imaginedBy(store *repo.Store) *repo.Store {
	like := store.Driver()
	if like == nil {
		return store
	}
	s := imagined{like.Facts(), map[string]driver.Row{}}
	if f, ok := like.(driver.Follower); ok {
		return repo.NewStore(struct {
			imagined
			driver.Follower
		}{s, f}, nil)
	}
	return repo.NewStore(s, nil)
}

func (imagined) Define(context.Context, []*driver.Table) error { return nil }
func (imagined) Attach(context.Context, []*driver.Table) error { return nil }
func (imagined) Drop(context.Context, []*driver.Table) error   { return nil }
func (imagined) Close() error                                  { return nil }
func (s imagined) Facts() driver.Facts                         { return s.facts }

func keyOf(t *driver.Table, k driver.Key) string { return t.Name + " " + k.Partition + " " + k.Sort }

func (s imagined) Get(_ context.Context, t *driver.Table, keys []driver.Key, _ []int, rows []driver.Row) error {
	for i, k := range keys {
		rows[i] = s.rows[keyOf(t, k)]
	}
	return nil
}

func (s imagined) Range(context.Context, driver.Span) iter.Seq2[*driver.Row, error] {
	return func(func(*driver.Row, error) bool) {}
}

func (s imagined) Walk(context.Context, *driver.Table, string) iter.Seq2[driver.Chunk, error] {
	return func(func(driver.Chunk, error) bool) {}
}

func (s imagined) Commit(_ context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	for _, op := range ops {
		op.Row.Rev = token
		s.rows[keyOf(op.Table, op.Row.Key)] = op.Row
	}
	return nil, nil
}
