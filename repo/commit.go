package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// maxAttempts bounds how often a write that has no expected version is tried
// again after another writer was faster.
const maxAttempts = 50

// A write is one record to be changed by a caller, and what the caller expects.
type write struct {
	change
	verb    verb
	expect  Version              // the version that the record must have; zero is any
	exists  bool                 // the record must be there, whatever the verb
	derive  func(w *write) error // sets next from old; nil when next is set already
	keep    bool                 // what T says nothing of stays: next is to get it from old
	careful bool                 // of a patch: whether it can be done depends on what is there
	asked   []driver.Edit        // of a patch; edits says what they come to
	open    bool                 // of a patch: its outcome may stay unknown, so that it need not be read for that
	refused *driver.Table        // whose condition did not hold, after a refusal
	why     string               // what the store said with the last refusal, beyond the condition
	lacks   bool                 // the refusal means that a claim is gone which the record has
	unread  bool                 // what is there is to be read

	turn turn // among those who write the record

	stranger bool // the refusal is that of a unique native index which the schema lacks
}

// run does all writes in one commit, or none, and returns the version that the
// records have from then on. A refusal that an expected version does not explain
// is tried again against what is there now.
func (c *collection) run(ctx context.Context, k *call, writes []write) (Version, error) {
	if ctx == nil {
		return Version{}, errNoContext
	}
	turn := &writes[0].turn
	turn.queues = &c.shared.queues
	defer turn.end()
	if turn.busy(writes) {
		if _, err := turn.wait(ctx, writes, false); err != nil {
			return Version{}, ofKey(writes[0].key, err)
		}
	}
	since := c.clock()
	if err := c.readOld(ctx, k, writes, false); err != nil {
		return Version{}, err
	}
	for a := (attempt{}); ; a.number++ {
		for i := range writes {
			if err := c.prepare(&writes[i]); err != nil {
				if gone := c.holds(ctx); gone != nil && !errors.Is(gone, ErrTimeout) {
					return Version{}, gone // err rests on what was read
				}
				return Version{}, c.keysFirst(ctx, k, writes[:i+1], ofKey(writes[i].key, err))
			}
		}
		token := driver.NewToken()
		a.sent = c.clock()
		at, refusal, err := c.try(ctx, k, token, writes, since)
		if err != nil || refusal == nil {
			return Version(token), err
		}
		if a.number >= maxAttempts {
			return Version{}, ofKey(writes[at].key, contention("gave up after %d attempts, other writers were faster each time%s", a.number, because(refusal.Why)))
		}
		if err := c.refused(ctx, k, &writes[at], refusal); err != nil {
			return Version{}, ofKey(writes[at].key, err)
		}
		if a.waited, err = turn.wait(ctx, writes, true); err == nil {
			since, err = c.retry(ctx, k, writes, &writes[at], a)
		}
		if err != nil {
			return Version{}, ofKeyOnce(writes[at].key, err)
		}
	}
}

// An attempt is one of several at the same writes.
type attempt struct {
	number int
	sent   time.Time
	waited bool // after it, for others
}

// retry makes ready for another attempt and returns since when what is there is known.
// A refusal brings that, as of when the commit was sent. It is read anew if a write was
// refused for a unique value that another one of the group was to give up; and where others
// will have written meanwhile: after waiting for them, and after some attempts, whose pauses are long.
// Of a group all is read then: a refusal tells of one record, and there may be many tombstones.
func (c *collection) retry(ctx context.Context, k *call, writes []write, refused *write, a attempt) (time.Time, error) {
	took := time.Duration(0)
	if !a.sent.IsZero() {
		took = time.Since(a.sent)
	}
	if !a.waited {
		if err := pauseLike(ctx, a.number, took); err != nil {
			return a.sent, err
		}
		if a.number < 2 && (len(writes) == 1 || refused.refused == c.records) {
			return a.sent, nil
		}
	}
	all := len(writes) > 1
	for i := range writes {
		w := &writes[i]
		w.known = w.known && c.blind(w) && !all
	}
	now := c.clock()
	return now, c.readOld(ctx, k, writes, all)
}

// blind reports whether w can be sent without knowing what is there.
func (c *collection) blind(w *write) bool {
	switch {
	case w.verb == doInsert:
		return !c.loose // a refusal brings what is there; the base of loose rows must be known
	case w.verb == doUpdate, c.setsStray(w):
		return false
	case w.verb == doPatch:
		return c.isPlain(w) && (w.open || c.records.Ring == 0)
	}
	return (w.verb == doDelete || !c.keeps()) && len(c.indexes) == 0 && !c.mayExpire() && c.records.Ring == 0
}

// readOld reads what is there for the writes that need it, or for all of which it is not known.
func (c *collection) readOld(ctx context.Context, k *call, writes []write, all bool) error {
	count, at := 0, -1
	whole := false
	for i := range writes {
		w := &writes[i]
		if w.unread = !w.known && (all || !c.blind(w)); w.unread {
			count, at = count+1, i
			whole = whole || w.verb == doUpdate || w.keep || c.setsStray(w) || w.verb == doPatch && len(writes) > 1
		}
	}
	if count == 0 {
		return nil
	}
	b := newReadBuffer(count)
	defer b.release()
	for i := range writes {
		if w := &writes[i]; w.unread {
			b.keys = append(b.keys, w.key)
		}
	}
	mask := c.indexMask
	switch {
	case whole:
		mask = nil
	case writes[at].verb == doPatch:
		mask = c.patchMask(&writes[at])
	}
	if err := c.store.get(ctx, k, c.records, b.keys, mask, b.rows); err != nil {
		return ofKey(writes[at].key, err)
	}
	n := 0
	for i := range writes {
		w := &writes[i]
		if w.unread {
			if err := w.learn(c, k, &b.rows[n], mask); err != nil {
				return ofKey(w.key, err)
			}
			n++
		}
	}
	return nil
}

// learn takes over what the store has under the write's key. Mask is that with
// which row was read, by k.
func (w *write) learn(c *collection, k *call, row *driver.Row, mask []int) (err error) {
	w.known = true
	vals := w.old.vals[:0]
	w.old = stored{row: !row.Rev.IsZero(), rev: row.Rev, hint: row.Hint, note: row.Note}
	if !w.old.row {
		return nil
	}
	if c.loose {
		w.old.tokens, err = c.tokensIn(row.Note)
	}
	w.old.version, w.old.expires = versionOf(row), row.Expires
	w.old.ring = append([]driver.Token(nil), row.Ring...)
	w.old.live = c.isLive(k, row)
	w.old.vals = slices.Grow(vals, len(c.cols))[:len(c.cols)]
	clear(w.old.vals[copy(w.old.vals, w.keyVals):])
	for i, v := range row.Fields {
		if mask != nil {
			i = mask[i]
		}
		w.old.vals[len(c.key)+i] = v
	}
	w.old.extra = append([]driver.Pair(nil), row.Extra...)
	if row.Dead {
		w.old.vals = nil // no rows of an index belong to a dead record
	}
	return err
}

// versionOf returns the version of the record in a row.
func versionOf(row *driver.Row) Version {
	if len(row.Ring) > 0 {
		return Version(row.Ring[0])
	}
	if row.Dead {
		return Version{} // a fence made it; nobody wrote a record here
	}
	return Version(row.Rev)
}

// prepare checks the caller's expectations against what is known to be there
// and completes the change.
func (c *collection) prepare(w *write) error {
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
func (c *collection) try(ctx context.Context, k *call, token driver.Token, writes []write, since time.Time) (int, *driver.Refusal, error) {
	b := newBuilder()
	defer b.release()
	b.token = token
	for i := range writes {
		w := &writes[i]
		if w.isGone() {
			continue
		}
		if err := b.add(c, i, &w.change); err != nil {
			return i, nil, ofKey(w.key, err)
		}
	}
	if len(b.ops) == 0 && len(writes) < 2 {
		return 0, nil, nil
	}
	err := b.sharedValue(c, writes)
	if err == nil {
		err = b.merge(c, writes)
	}
	if err != nil {
		return 0, nil, c.keysFirst(ctx, k, writes, err)
	}
	b.addGone(c, writes)
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
	if err := b.checkRefusal(refusal); err != nil {
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
func (c *collection) commitAll(ctx context.Context, k *call, b *builder, writes []write, since time.Time) (*driver.Refusal, error) {
	if err := c.putAll(ctx, k, b, writes); err != nil {
		c.dropOwn(b)
		if o, ok := errors.AsType[*overtaken](err); ok {
			return b.refusalOf(c, &o.row), nil
		}
		return nil, err
	}
	refusal, err := c.send(ctx, k, b.token, b.ops, &writes[b.owner[0]], since)
	switch {
	case err == nil && refusal == nil:
		c.dropOld(b)
	case !errors.Is(err, ErrUnknownOutcome):
		c.dropOwn(b)
	}
	return refusal, err
}

// refusalOf returns the refusal that the op on a record would meet.
func (b *builder) refusalOf(c *collection, row *driver.Row) *driver.Refusal {
	at := slices.IndexFunc(b.ops, func(op driver.Op) bool { return op.Table == c.records && op.Row.Key == row.Key })
	return &driver.Refusal{Op: at, Row: *row}
}

// checkRefusal sees that a refusal speaks of an op, and an edit, that there is.
func (b *builder) checkRefusal(refusal *driver.Refusal) error {
	if refusal.Op < 0 || refusal.Op >= len(b.ops) {
		return fmt.Errorf("the store refused op %d of %d: %w", refusal.Op, len(b.ops), ErrInternal)
	}
	op := &b.ops[refusal.Op]
	if refusal.Overflow && (refusal.Edit < 0 || refusal.Edit >= len(op.Edits)) {
		return fmt.Errorf("the store refused edit %d of %d: %w", refusal.Edit, len(op.Edits), ErrInternal)
	}
	return checkWidth(&refusal.Row, op.Table, nil)
}

// refused decides what a refusal means for a write: an error for the caller, or
// nil and another attempt against what is there now.
func (c *collection) refused(ctx context.Context, k *call, w *write, refusal *driver.Refusal) error {
	if !refusal.Row.Dead && c.store.expiredSince(k.now, refusal.Row.Expires) {
		k.tick(c.store) // whether it was there is not known; the next attempt will know
		return nil
	}
	if refusal.Overflow {
		e := w.edits[refusal.Edit]
		return invalid("add to %s: the sum is over the range of int64, or the field is no integer", c.editName(e))
	}
	if w.stranger {
		return c.refusedStranger(ctx, k, refusal)
	}
	if w.refused != c.records {
		return c.refusedClaim(ctx, k, w, refusal)
	}
	if w.verb == doPatch && !w.known && refusal.Row.Rev.IsZero() {
		return ErrNotFound
	}
	return w.learn(c, k, &refusal.Row, nil)
}
