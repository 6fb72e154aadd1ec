package repo

import (
	"context"
	"errors"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// run does all writes in one commit, or none, and returns the version that the
// records have from then on. A refusal that an expected version does not explain
// is tried again against what is there now.
func (c *writer) run(ctx context.Context, k *call, writes []write) (driver.Token, error) {
	if ctx == nil {
		return driver.Token{}, errNoContext
	}
	turn := &writes[0].turn
	turn.queues = &c.shared.queues
	defer turn.end()
	if len(writes) == 1 && turn.busy(writes[0].key) {
		if _, err := turn.wait(ctx, writes[0].key, false); err != nil {
			return driver.Token{}, ofKey(writes[0].key, err)
		}
	}
	since := c.clock()
	if err := c.readOld(ctx, k, writes, false); err != nil {
		return driver.Token{}, err
	}
	for a := (attempt{}); ; a.number++ {
		for i := range writes {
			if err := c.prepare(&writes[i]); err != nil {
				if gone := c.holds(ctx); gone != nil {
					return driver.Token{}, gone // err rests on what was read
				}
				return driver.Token{}, c.keysFirst(ctx, k, writes[:i+1], ofKey(writes[i].key, err))
			}
		}
		token := driver.NewToken()
		a.sent = c.clock()
		at, refusal, err := c.try(ctx, k, token, writes, since)
		if err != nil || refusal == nil {
			return token, err
		}
		if a.number >= maxAttempts {
			return driver.Token{}, ofKey(writes[at].key, contention("gave up after %d attempts, other writers were faster each time%s", a.number, because(refusal.Why)))
		}
		if err := c.refused(ctx, k, &writes[at], refusal); err != nil {
			return driver.Token{}, ofKey(writes[at].key, err)
		}
		if len(writes) == 1 { // groups have no turn: each record of theirs would have a queue of its own
			a.waited, err = turn.wait(ctx, writes[0].key, true)
		}
		if err == nil {
			since, err = c.retry(ctx, k, writes, &writes[at], a)
		}
		if err != nil {
			return driver.Token{}, ofKeyOnce(writes[at].key, err)
		}
	}
}

// prepare checks the caller's expectations against what is known to be there
// and completes the change.
func (c *writer) prepare(w *write) error {
	if w.known {
		if err := w.expected(); err != nil {
			return err
		}
		switch {
		case w.derive != nil:
			return w.derive(w)
		case w.keep:
			w.whole = true
			return c.keep(w)
		}
		return nil
	}
	w.cond, w.rev = blindCond(w)
	return nil
}

// try sends one commit for all writes. A refusal comes with the index of the
// write that was refused.
// Since is from before what is known to be there was read.
func (c *writer) try(ctx context.Context, k *call, token driver.Token, writes []write, since time.Time) (int, *driver.Refusal, error) {
	b := newBuilder(c.store)
	defer b.release()
	b.token = token
	for i := range writes {
		w := &writes[i]
		if w.isGone() {
			continue
		}
		if err := b.add(c.layoutC, i, &w.change); err != nil {
			return i, nil, ofKey(w.key, err)
		}
	}
	if len(b.ops) == 0 && len(writes) < 2 {
		return 0, nil, nil
	}
	err := b.sharedValue(c.layoutC)
	if err == nil {
		err = b.merge(c.layoutC)
	}
	if err != nil {
		return 0, nil, c.keysFirst(ctx, k, writes, err)
	}
	addGone(b, c.layoutC, writes)
	if err := c.fits(writes, b.ops); err != nil {
		return 0, nil, err
	}
	if err := c.tellFirst(ctx, k, writes); err != nil {
		return 0, nil, err
	}
	if err := c.enter(ctx, k); err != nil {
		return 0, nil, err
	}
	defer c.leave(k)
	if err := c.addsStray(writes); err != nil {
		return 0, nil, err
	}
	refusal, err := c.commitAll(ctx, k, b, writes, since)
	if err != nil {
		return 0, nil, ofKeyOnce(writes[b.owner[0]].key, err)
	}
	if refusal == nil {
		return 0, nil, nil
	}
	if err := checkRefusal(b, refusal); err != nil {
		return 0, nil, err
	}
	w := b.owner[refusal.Op]
	c.blame(&writes[w], &b.ops[refusal.Op], refusal, len(writes) == 1)
	if writes[w].refused != c.records {
		return w, refusal, c.keysFirst(ctx, k, writes, nil)
	}
	return w, refusal, nil
}

// commitAll puts what is loose, commits, and leaves the dropping of what nobody needs
// then to the cleaner. While the outcome is unknown nothing is dropped.
func (c *writer) commitAll(ctx context.Context, k *call, b *builder, writes []write, since time.Time) (*driver.Refusal, error) {
	if err := c.putAll(ctx, k, b); err != nil {
		c.dropOwn(b)
		if o, ok := errors.AsType[*overtaken](err); ok {
			return refusalOf(b, c.layoutC, &o.row), nil
		}
		return nil, err
	}
	refusal, err := c.send(ctx, k, b.token, b.ops, &writes[b.owner[0]], since)
	switch {
	case err == nil && refusal == nil:
		c.dropOld(b)
	case !errors.Is(err, driver.ErrUnknownOutcome):
		c.dropOwn(b)
	}
	return refusal, err
}
