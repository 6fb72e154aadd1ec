package repo

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"

	"github.com/polystore/polystore/repo/internal/store"
	"github.com/polystore/polystore/repo/internal/upkeep"
)

// A collection is what a Repo is about, and what it does, whatever its records are.
type collection struct {
	*upkeep.Keeper
	of   *Store // nil if it is nothing
	next atomic.Pointer[collection]
}

// newest returns the collection that has followed c, or c.
func (c *collection) newest() *collection {
	for next := c.next.Load(); next != nil; next = c.next.Load() {
		c = next
	}
	return c
}

// current returns the collection by which a write is to go that begins now. What keeps it from knowing the write will say.
func (c *collection) current(ctx context.Context) *collection {
	if c = c.newest(); c.opened() && ctx != nil && c.IsStale() {
		_ = c.Told(ctx)
		c = c.newest()
	}
	return c
}

// begin begins an operation. Leave is to be deferred.
func (c *collection) begin(ctx context.Context, op string) (context.Context, store.Call) {
	c.Renew()
	ctx, k := c.Store.Begin(ctx, op, c.Name)
	k.Tick(c.Store)
	return ctx, k
}

// end ends the operation and makes err an *Error.
func (c *collection) end(k *store.Call, key Key, err error) error {
	if !c.opened() {
		return c.annotate(k.Op, nil, err)
	}
	if err != nil {
		if gone := c.Gone(); gone != nil && errors.Is(err, ErrInvalid) {
			err = gone // the backend does not know the tables any more
		}
		err = c.annotate(k.Op, key, err)
	}
	return k.End(err)
}

// annotate makes err an *Error of operation op. What was not opened has its own.
func (c *collection) annotate(op string, key Key, err error) error {
	if !c.opened() {
		return &Error{Op: op, Err: failure.ErrNotOpened}
	}
	e := &Error{Op: op, Collection: c.Name, Err: c.of.Redact(err)}
	if key != nil {
		e.Key = failure.Short(key.String())
	}
	var k *failure.Keyed
	if errors.As(err, &k) {
		e.Key = c.PrintText(k.Key)
	} else if c.Store.Opts.Redact && key != nil {
		e.Key = "(redacted)"
	}
	var taken *change.IndexTaken
	if errors.As(err, &taken) {
		e.Index = taken.Index
	}
	var u *commit.Unknown
	if errors.As(err, &u) {
		e.Outcome = &Outcome{*u.Outcome}
	}
	e.Retryable = failure.IsRetryable(err)
	return e
}
