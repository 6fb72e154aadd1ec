package repo

import (
	"context"
	"errors"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// An index is loose if its rows or claims lie outside the unit of their record, so
// that no commit holds both. docs/design.md states the protocol that keeps them in
// step; the steps W1 to W7, C1, F1 and so on are named after it.
//
// A loose row has its token in its key; a loose claim has it as its Rev. The record
// keeps the tokens of its entries in its Note, and the commit that the row or claim
// was put for needs the record to have the Rev that stands in the row: its base.

// A looseOp is a row or claim that is put before a commit, or dropped after it.
type looseOp struct {
	driver.Op
	x     *index
	owner int // the change that it belongs to
}

// addLoose appends what a change does to the entries of the loose index at a place:
// what is put before the commit, with its token, and what is dropped after it.
func (b *builder) addLoose(c *collection, at int, ch *change) error {
	x := c.indexes[at]
	var err error
	b.before, b.after = b.before[:0], b.after[:0]
	hasOld := ch.known && ch.old.row && ch.old.vals != nil
	var held []driver.Token
	if hasOld {
		held = ch.old.tokens[at]
		if b.before, err = b.storedEntries(b.before, c, x, &ch.key, ch.old.vals); err != nil {
			return err
		}
	}
	if ch.next != nil {
		if b.after, err = b.entries(b.after, c, x, &ch.key, ch.next.vals); err != nil {
			return err
		}
	}
	var base driver.Value
	if !ch.old.rev.IsZero() {
		base = driver.StringValue(ch.old.rev.String())
	}
	tokens := make([]driver.Token, len(b.after))
	for i, e := range b.after {
		if j := slices.Index(b.before, e); j >= 0 && j < len(held) {
			tokens[i] = held[j] // an entry that stays costs nothing
			continue
		}
		tokens[i] = b.token
		b.putLoose(x, ch, e, base)
	}
	for j, e := range b.before {
		if j < len(held) && !slices.Contains(b.after, e) {
			b.dropLoose(x, e, held[j])
		}
	}
	ch.tokens[at] = tokens
	return nil
}

func (b *builder) putLoose(x *index, ch *change, e driver.Key, base driver.Value) {
	op := looseOp{x: x}
	op.Do, op.Table, op.Row.Key = driver.Put, x.table, x.tokenKey(e, b.token)
	if x.Unique {
		op.If = driver.Absent
		op.Row.Fields = append(op.Row.Fields, driver.StringValue(ch.key.Partition+ch.key.Sort))
	}
	op.Row.Fields = append(op.Row.Fields, base)
	b.puts = append(b.puts, op)
}

func (b *builder) dropLoose(x *index, e driver.Key, token driver.Token) {
	b.drops = append(b.drops, looseOp{Op: x.dropOf(x.tokenKey(e, token), token), x: x})
}

// noteAfter returns the Note that a record has after a change.
func (c *collection) noteAfter(ch *change) string {
	if ch.tokens == nil {
		return ch.old.note
	}
	return c.noteOf(ch.tokens)
}

// expiry returns the expiry that a record has after a patch.
func (ch *change) expiry() int64 {
	if ch.renew {
		return ch.next.expires
	}
	return ch.old.expires
}

// putAll puts what b has to put before a commit (W3), side by side. Until it
// returns nil the commit must not be sent.
func (c *collection) putAll(ctx context.Context, k *call, b *builder, writes []write) error {
	if len(b.puts) == 0 {
		return nil
	}
	if err := c.sharedClaim(b, writes); err != nil {
		return err
	}
	errs := make([]error, len(b.puts))
	k.atOnce(len(b.puts), func(i int, k *call) {
		k.within = true
		p := &b.puts[i]
		if p.x.Unique {
			errs[i] = c.claim(ctx, k, b.token, p, &writes[p.owner])
		} else {
			_, errs[i] = c.sendLoose(ctx, k, b.token, &p.Op)
		}
	})
	for i, err := range errs {
		if err != nil {
			return ofKeyOnce(writes[b.puts[i].owner].key, err)
		}
	}
	return nil
}

// sharedClaim returns the error for a unique value that two records of a group want.
// Their claims would have the same token, so that each would pass for the other's.
func (c *collection) sharedClaim(b *builder, writes []write) error {
	if len(writes) == 1 {
		return nil // one record names each value once
	}
	type value struct {
		x   *index
		key driver.Key
	}
	first := map[value]int{}
	for i := range b.puts {
		p := &b.puts[i]
		if !p.x.Unique {
			continue
		}
		v := value{p.x, p.Row.Key}
		if j, ok := first[v]; ok {
			w := &writes[p.owner]
			return ofKey(w.key, c.taken(p.x, writes[b.puts[j].owner].key, w))
		}
		first[v] = i
	}
	return nil
}

// sendLoose sends a commit of one row or claim, and the same again while it cannot
// be known whether it was done: that does no harm, however late the first one is.
func (c *collection) sendLoose(ctx context.Context, k *call, token driver.Token, op *driver.Op) (*driver.Refusal, error) {
	for attempt := 0; ; attempt++ {
		refusal, err := c.store.commit(ctx, k, token, []driver.Op{*op})
		if !errors.Is(err, ErrUnknownOutcome) {
			return refusal, err
		}
		if attempt == 3 || pause(ctx, attempt+1) != nil {
			return nil, givenUp(ctx, "the rows of an index", err)
		}
	}
}

// dropOwn drops what was put for a commit that did not happen and never will (W7).
func (c *collection) dropOwn(b *builder) {
	for i := range b.puts {
		p := &b.puts[i]
		c.store.cleaner.add(p.x.dropOf(p.Row.Key, b.token), false)
	}
}

// dropOld drops the entries that a commit took out of its records (W6).
func (c *collection) dropOld(b *builder) {
	for i := range b.drops {
		c.store.cleaner.add(b.drops[i].Op, !b.drops[i].x.Unique)
	}
}
