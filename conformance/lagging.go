package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

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
	store := &lagging{Store: e.store}
	schema := itemSchema()
	schema.Collection = e.freshName()
	items, err := repo.Open[item](ctx, repo.NewStore(store, nil), schema)
	e.ok("open", err)
	store.lags.Store(true)
	it := e.item("a")
	err = items.Insert(ctx, &it)
	e.is("insert while replicas lag", err, repo.ErrUnknownOutcome)
	facts, ok := errors.AsType[*repo.Error](err)
	e.that(ok && facts.Outcome != nil, "an error with an Outcome", "%v", err)
	verdict, err := items.Resolve(ctx, facts.Outcome)
	e.is("resolve while replicas lag", err, repo.ErrUnavailable)
	equal(e, "the verdict while replicas lag", verdict, repo.Unknown)
	store.lags.Store(false)
	verdict, err = items.Resolve(ctx, facts.Outcome)
	e.ok("resolve when they have caught up", err)
	equal(e, "the verdict then", verdict, repo.Committed)
}
