package commit

import (
	"context"
	"errors"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/commit/remote"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/store"
)

// Run does all writes in one commit, or none, and returns the version that the
// records have from then on. A refusal that an expected version does not explain
// is tried again against what is there now.
func (c *Writer) Run(ctx context.Context, k *store.Call, writes []Write) (driver.Token, error) {
	if ctx == nil {
		return driver.Token{}, failure.ErrNoContext
	}
	turn := &writes[0].turn
	turn.Queues = &c.Shared.Queues
	defer turn.End()
	if len(writes) == 1 && turn.Busy(writes[0].Key) {
		if _, err := turn.Wait(ctx, writes[0].Key, false); err != nil {
			return driver.Token{}, failure.OfKey(writes[0].Key, err)
		}
	}
	since := c.Clock()
	if err := c.ReadOld(ctx, k, writes, false); err != nil {
		return driver.Token{}, err
	}
	for a := (attempt{}); ; a.number++ {
		for i := range writes {
			if err := c.prepare(&writes[i]); err != nil {
				if gone := c.Holds(ctx); gone != nil && !errors.Is(gone, driver.ErrTimeout) {
					return driver.Token{}, gone // err rests on what was read
				}
				return driver.Token{}, c.keysFirst(ctx, k, writes[:i+1], failure.OfKey(writes[i].Key, err))
			}
		}
		token := driver.NewToken()
		a.sent = c.Clock()
		at, refusal, err := c.try(ctx, k, token, writes, since)
		if err != nil || refusal == nil {
			return token, err
		}
		if a.number >= limit.MaxAttempts {
			return driver.Token{}, failure.OfKey(writes[at].Key, failure.Contention("gave up after %d attempts, other writers were faster each time%s", a.number, failure.Because(refusal.Why)))
		}
		if err := c.refused(ctx, k, &writes[at], refusal); err != nil {
			return driver.Token{}, failure.OfKey(writes[at].Key, err)
		}
		if len(writes) == 1 { // groups have no turn: each record of theirs would have a queue of its own
			a.waited, err = turn.Wait(ctx, writes[0].Key, true)
		}
		if err == nil {
			since, err = c.retry(ctx, k, writes, &writes[at], a)
		}
		if err != nil {
			return driver.Token{}, failure.OfKeyOnce(writes[at].Key, err)
		}
	}
}

// prepare checks the caller's expectations against what is known to be there
// and completes the change.
func (c *Writer) prepare(w *Write) error {
	if w.Known {
		if err := w.expected(); err != nil {
			return err
		}
		switch {
		case w.Derive != nil:
			return w.Derive(w)
		case w.keep:
			w.Whole = true
			return c.keep(w)
		}
		return nil
	}
	w.Cond, w.Rev = blindCond(w)
	return nil
}

// try sends one commit for all writes. A refusal comes with the index of the
// write that was refused.
// Since is from before what is known to be there was read.
func (c *Writer) try(ctx context.Context, k *store.Call, token driver.Token, writes []Write, since time.Time) (int, *driver.Refusal, error) {
	b := change.NewBuilder(c.Store)
	defer b.Release()
	b.Token = token
	for i := range writes {
		w := &writes[i]
		if w.isGone() {
			continue
		}
		if err := b.Add(c.Layout, i, &w.Change); err != nil {
			return i, nil, failure.OfKey(w.Key, err)
		}
	}
	if len(b.Ops) == 0 && len(writes) < 2 {
		return 0, nil, nil
	}
	err := b.SharedValue(c.Layout)
	if err == nil {
		err = b.Merge(c.Layout)
	}
	if err != nil {
		return 0, nil, c.keysFirst(ctx, k, writes, err)
	}
	addGone(b, c.Layout, writes)
	if err := c.fits(writes, b.Ops); err != nil {
		return 0, nil, err
	}
	if err := c.tellFirst(ctx, k, writes); err != nil {
		return 0, nil, err
	}
	if err := c.Enter(ctx, k); err != nil {
		return 0, nil, err
	}
	defer c.Leave(k)
	if err := c.addsStray(writes); err != nil {
		return 0, nil, err
	}
	refusal, err := c.CommitAll(ctx, k, b, writes, since)
	if err != nil {
		return 0, nil, failure.OfKeyOnce(writes[b.Owner[0]].Key, err)
	}
	if refusal == nil {
		return 0, nil, nil
	}
	if err := checkRefusal(b, refusal); err != nil {
		return 0, nil, err
	}
	w := b.Owner[refusal.Op]
	c.blame(&writes[w], &b.Ops[refusal.Op], refusal, len(writes) == 1)
	if writes[w].refused != c.Records {
		return w, refusal, c.keysFirst(ctx, k, writes, nil)
	}
	return w, refusal, nil
}

// CommitAll puts what is loose, commits, and leaves the dropping of what nobody needs
// then to the cleaner. While the outcome is unknown nothing is dropped.
func (c *Writer) CommitAll(ctx context.Context, k *store.Call, b *change.Builder, writes []Write, since time.Time) (*driver.Refusal, error) {
	if err := c.PutAll(ctx, k, b); err != nil {
		c.DropOwn(b)
		if o, ok := errors.AsType[*remote.Overtaken](err); ok {
			return refusalOf(b, c.Layout, &o.Row), nil
		}
		return nil, err
	}
	refusal, err := c.send(ctx, k, b.Token, b.Ops, &writes[b.Owner[0]], since)
	switch {
	case err == nil && refusal == nil:
		c.DropOld(b)
	case !errors.Is(err, driver.ErrUnknownOutcome):
		c.DropOwn(b)
	}
	return refusal, err
}
