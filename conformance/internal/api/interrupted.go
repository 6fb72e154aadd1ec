package api

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An interrupted store changes schemas and rows so many times and then fails. Tables are
// defined and dropped one by one.
type interrupted struct {
	driver.Store
	left int
}

func (s *interrupted) step(do func() error) error {
	if s.left == 0 {
		return fmt.Errorf("interrupted by the rule: %w", driver.ErrUnavailable)
	}
	s.left--
	return do()
}

func (s *interrupted) Define(ctx context.Context, tables []*driver.Table) error {
	for i := range tables {
		if err := s.step(func() error { return s.Store.Define(ctx, tables[i:i+1]) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *interrupted) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (refusal *driver.Refusal, err error) {
	err = s.step(func() (err error) {
		refusal, err = s.Store.Commit(ctx, token, ops)
		return err
	})
	return refusal, err
}

func interruptedOpen(ctx context.Context, e *env) {
	schema := itemSchema()
	schema.Indexes = []repo.Index{{Name: "near", Partition: []string{"shelf"}, Sort: []string{"count"}}}
	if tested.KeepsLocal(e.Facts) != "" {
		schema.Indexes = nil
	}
	for calls := 0; ; calls++ {
		e.That(calls < 20, "an Open to come to an end", "%d calls", calls)
		schema.Collection = e.FreshName()
		_, err := repo.Open[item](ctx, repo.NewStore(&interrupted{e.Store, calls}, nil), schema)
		if calls == 0 || err != nil {
			e.Is("open that is interrupted", err, repo.ErrUnavailable)
		}
		again := schema
		if calls%2 == 0 {
			e.OK("drop collection", repo.DropCollection(ctx, e.Repo, schema.Collection))
			again.Sort, again.Indexes = []string{"-count", "id"}, nil
		}
		r, openErr := repo.Open[item](ctx, repo.NewStore(e.Store, nil), again)
		e.OK(fmt.Sprintf("open after one that was interrupted after %d calls", calls), openErr)
		insertAll(ctx, e, r, e.item("a"))
		rule.Equal(e, "the number of records", len(collect(e, "find", r.Find(ctx, repo.Where("shelf", e.name("shelf")).Order(again.Sort...)))), 1)
		if err == nil {
			return
		}
	}
}
