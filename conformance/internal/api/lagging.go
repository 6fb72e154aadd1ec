package api

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A lagging store is the store under test with replicas that fall behind: while they do,
// it does what it is asked to, and cannot say that this will last.
type lagging struct {
	driver.Store
	lags atomic.Bool
}

func (l *lagging) Facts() driver.Facts {
	f := l.Store.Facts()
	f.Uncertain, f.Waits = true, true
	return f
}

func (l *lagging) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	refusal, err := l.Store.Commit(ctx, token, ops)
	switch {
	case err != nil || refusal != nil || !l.lags.Load():
		return refusal, err
	case ops[0].Do == driver.Check:
		return nil, fmt.Errorf("replicas lag: %w", driver.ErrUnavailable)
	}
	return nil, fmt.Errorf("replicas lag: %w", driver.ErrUnknownOutcome)
}

func notYetDurable(ctx context.Context, e *env) {
	store := &lagging{Store: e.Store}
	schema := itemSchema()
	schema.Collection = e.FreshName()
	items, err := repo.Open[item](ctx, repo.NewStore(store, nil), schema)
	e.OK("open", err)
	store.lags.Store(true)
	it := e.item("a")
	err = items.Insert(ctx, &it)
	e.Is("insert while replicas lag", err, repo.ErrUnknownOutcome)
	facts, ok := errors.AsType[*repo.Error](err)
	e.That(ok && facts.Outcome != nil, "an error with an Outcome", "%v", err)
	verdict, err := items.Resolve(ctx, facts.Outcome)
	e.Is("resolve while replicas lag", err, repo.ErrUnavailable)
	rule.Equal(e, "the verdict while replicas lag", verdict, repo.Unknown)
	store.lags.Store(false)
	verdict, err = items.Resolve(ctx, facts.Outcome)
	e.OK("resolve when they have caught up", err)
	rule.Equal(e, "the verdict then", verdict, repo.Committed)
}
