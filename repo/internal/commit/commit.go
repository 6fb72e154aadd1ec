package commit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/commit/remote"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/store"
	"github.com/polystore/polystore/repo/internal/turn"
)

// Run does all writes in one commit, or none, and returns the version that the
// records have from then on. A refusal that an expected version does not explain
// is tried again against what is there now. A single write is a group of one.
func Run(ctx context.Context, k *store.Call, writes []Write) (driver.Token, error) {
	if ctx == nil {
		return driver.Token{}, failure.ErrNoContext
	}
	turn := &writes[0].turn // a group has one at a time, so that no two wait for each other
	turn.Queues = &writes[0].By.Shared.Queues
	defer turn.End()
	if err := queueUp(ctx, turn, writes); err != nil {
		return driver.Token{}, err
	}
	since, err := recall(ctx, k, writes, clock(writes))
	if err != nil {
		return driver.Token{}, err
	}
	if err := ReadOld(ctx, k, writes, false); err != nil {
		return driver.Token{}, err
	}
	for a := (attempt{}); ; a.number++ {
		if err := prepare(ctx, k, writes); err != nil {
			return driver.Token{}, err
		}
		if a.number > 0 {
			k.Retry()
		}
		token := driver.NewToken()
		a.sent = clock(writes)
		at, refusal, err := try(ctx, k, token, writes, since)
		if err != nil || refusal == nil {
			return token, err
		}
		k.Conflict()
		w := &writes[at]
		if a.number >= limit.MaxAttempts {
			return driver.Token{}, w.failed(failure.Contention("gave up after %d attempts, other writers were faster each time%s", a.number, failure.Because(refusal.Why)))
		}
		if err := w.By.refused(ctx, k, w, refusal); err != nil {
			return driver.Token{}, w.failed(err)
		}
		if a.waited, err = turn.Wait(ctx, &w.By.Shared.Queues, w.Key, true); err == nil {
			since, err = retry(ctx, k, writes, w, a)
		}
		if err != nil {
			return driver.Token{}, w.failedOnce(err)
		}
	}
}

// queueUp waits for the turn at a record for which others wait already.
func queueUp(ctx context.Context, t *turn.Turn, writes []Write) error {
	for i := range writes {
		w := &writes[i]
		if queues := &w.By.Shared.Queues; queues.Has(w.Key) {
			if _, err := t.Wait(ctx, queues, w.Key, false); err != nil {
				return w.failed(err)
			}
			return nil
		}
	}
	return nil
}

// prepare checks the caller's expectations against what is known to be there
// and completes the changes.
func prepare(ctx context.Context, k *store.Call, writes []Write) error {
	for i := range writes {
		w := &writes[i]
		err := w.prepare()
		if err == nil {
			continue
		}
		if gone := w.By.Holds(ctx, nil); gone != nil && !errors.Is(gone, driver.ErrTimeout) {
			return w.failed(gone) // err rests on what was read
		}
		return keysFirst(ctx, k, writes[:i], w.failed(err))
	}
	return nil
}

func (w *Write) prepare() error {
	if !w.Known {
		w.Cond, w.Rev = blindCond(w)
		return nil
	}
	if err := w.expected(); err != nil {
		return err
	}
	switch {
	case w.Derive != nil:
		return w.Derive(w)
	case w.keep:
		w.Whole = true
		return w.By.keep(w)
	}
	return nil
}

// try sends one commit for all writes. A refusal comes with the index of the
// write that was refused.
// Since is from before what is known to be there was read.
func try(ctx context.Context, k *store.Call, token driver.Token, writes []Write, since time.Time) (int, *driver.Refusal, error) {
	if len(writes) == 1 && writes[0].isGone() {
		return 0, nil, nil
	}
	b := change.NewBuilder(writes[0].By.Store)
	defer b.Release()
	b.Token = token
	if err := readClaims(ctx, k, b, writes); err != nil {
		return 0, nil, err
	}
	for i := range writes {
		w := &writes[i]
		if w.changes() {
			if err := b.Add(w.By.Layout, i, &w.Change); err != nil {
				return i, nil, w.failed(err)
			}
		}
	}
	err := b.SharedValue()
	if err == nil {
		err = b.Merge()
	}
	if err != nil {
		return 0, nil, keysFirst(ctx, k, writes, err)
	}
	addChecks(b, writes)
	if err := fits(writes, b.Ops); err != nil {
		return 0, nil, err
	}
	if err := tellFirst(ctx, k, writes); err != nil {
		return 0, nil, err
	}
	var few [4]*Writer
	all := writersOf(few[:0], writes)
	if err := enter(ctx, k, all); err != nil {
		return 0, nil, err
	}
	defer leave(k, all)
	if err := addsStray(writes); err != nil {
		return 0, nil, err
	}
	return commitAll(ctx, k, b, writes, since)
}

// commitAll sends what b has for some writes, and blames a refusal on one of them.
func commitAll(ctx context.Context, k *store.Call, b *change.Builder, writes []Write, since time.Time) (int, *driver.Refusal, error) {
	first := &writes[b.Owner[0]]
	var refusal *driver.Refusal
	var err error
	if first.changes() {
		refusal, err = first.By.CommitAll(ctx, k, b, writes, since)
	} else {
		refusal, err = first.By.askAll(ctx, k, b)
	}
	if err != nil {
		return 0, nil, first.failedOnce(err)
	}
	if refusal == nil {
		return 0, nil, nil
	}
	if err := checkRefusal(b, refusal); err != nil {
		return 0, nil, err
	}
	at := b.Owner[refusal.Op]
	w := &writes[at]
	w.By.blame(w, &b.Ops[refusal.Op], refusal, len(writes) == 1)
	switch {
	case len(writes) == 1:
	case w.refused != w.By.Records:
		return at, refusal, keysFirst(ctx, k, writes, nil)
	case slices.ContainsFunc(writes[:at], func(w Write) bool { return w.Verb == DoCheck && !w.Known }): // whose op comes later
		return at, refusal, keysFirst(ctx, k, writes[:at], nil)
	}
	return at, refusal, nil
}

// CommitAll puts what is remote, commits, and leaves the dropping of what nobody needs
// then to the cleaner. While the outcome is unknown nothing is dropped.
func (c *Writer) CommitAll(ctx context.Context, k *store.Call, b *change.Builder, writes []Write, since time.Time) (*driver.Refusal, error) {
	if w, err := putAll(ctx, k, b, writes); err != nil {
		c.DropOwn(b)
		if o, ok := errors.AsType[*remote.Overtaken](err); ok {
			return refusalOf(b, w.By.Layout, &o.Row), nil
		}
		return nil, w.failedOnce(err)
	}
	refusal, err := c.send(ctx, k, b, writes, since)
	switch {
	case err == nil && refusal == nil:
		c.DropOld(b)
	case !errors.Is(err, driver.ErrUnknownOutcome):
		c.DropOwn(b)
	}
	return refusal, err
}

// putAll puts what lies elsewhere before the commit (W3), side by side, each by the writer of its collection.
// Until it returns nil the commit must not be sent. An error comes with the write that it is of.
func putAll(ctx context.Context, k *store.Call, b *change.Builder, writes []Write) (*Write, error) {
	if len(b.Puts) == 0 {
		return nil, nil
	}
	if err := b.SharedClaim(); err != nil {
		return &writes[b.Puts[0].Owner], err
	}
	errs := make([]error, len(b.Puts))
	k.AtOnce(len(b.Puts), func(i int, k *store.Call) {
		k.Within = true
		p := &b.Puts[i]
		errs[i] = writes[p.Owner].By.Put(ctx, k, b, p)
	})
	for i, err := range errs {
		if err != nil {
			return &writes[b.Puts[i].Owner], err
		}
	}
	return nil, nil
}
