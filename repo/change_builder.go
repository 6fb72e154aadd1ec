package repo

import (
	"fmt"
	"slices"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A builder gathers the ops of a commit. Its slices are reused.
type builder struct {
	store   *handle
	changes []*change // that were added, by number
	ops     []driver.Op
	edits   []driver.Edit // of ops that patch instead of writing a record whole
	owner   []int         // by op: the change it belongs to
	entryMaker
	before []driver.Key // of the index rows or claims that a record has in one index
	after  []driver.Key

	token driver.Token // of the commit
	puts  []looseOp    // before it
	drops []looseOp    // after it

	values []nativeValue // that the records will have alone
}

var builders = sync.Pool{New: func() any { return new(builder) }}

func newBuilder(store *handle) *builder {
	b := builders.Get().(*builder)
	b.store = store
	b.ops, b.edits, b.owner, b.vals = b.ops[:0], b.edits[:0], b.owner[:0], b.vals[:0]
	return b
}

// release gives b back, without what it refers to.
func (b *builder) release() {
	clear(b.ops[:cap(b.ops)])
	clear(b.edits[:cap(b.edits)])
	clear(b.vals[:cap(b.vals)])
	clear(b.before[:cap(b.before)])
	clear(b.after[:cap(b.after)])
	b.puts, b.drops, b.values, b.token, b.store = nil, nil, nil, driver.Token{}, nil
	clear(b.changes)
	b.changes = b.changes[:0]
	builders.Put(b)
}

// add appends the ops of a change, the record's own first.
func (b *builder) add(c *layoutC, i int, ch *change) error {
	for len(b.changes) <= i {
		b.changes = append(b.changes, nil)
	}
	b.changes[i] = ch
	from, wanted := len(b.puts), len(b.values)
	if c.loose && ch.known {
		ch.tokens = make([][]driver.Token, len(c.indexes))
	}
	at := len(b.ops)
	b.op()
	rows := 0
	for j, x := range c.indexes {
		var err error
		switch {
		case x.native:
			err = b.addNative(c, x, ch)
		case !x.loose:
			err = b.addRows(c, x, ch)
		case ch.known: // else it is a patch of other fields
			err = b.addLoose(c, j, ch)
		}
		if err != nil {
			return fmt.Errorf("index %s: %w", x.name, err)
		}
		rows += x.rowsOf(ch.next)
	}
	if rows > maxRows {
		return fmt.Errorf("record has %d index rows, at most %d: %w", rows, maxRows, driver.ErrTooLarge)
	}
	b.setRecordOp(c, &b.ops[at], ch)
	for len(b.owner) < len(b.ops) {
		b.owner = append(b.owner, i)
	}
	for j := from; j < len(b.puts); j++ {
		b.puts[j].owner = i
	}
	for j := wanted; j < len(b.values); j++ {
		b.values[j].owner = i
	}
	return nil
}

// op appends an op and returns it, to be filled in.
func (b *builder) op() *driver.Op {
	b.ops = append(b.ops, driver.Op{})
	return &b.ops[len(b.ops)-1]
}

// setRecordOp makes op, which is zero, the one on the record itself.
func (b *builder) setRecordOp(c *layoutC, op *driver.Op, ch *change) {
	op.Table, op.Row.Key = c.records, ch.key
	switch {
	case ch.known && ch.old.row:
		op.If, op.Rev, op.Row.Ring, op.Row.Hint = driver.AtRev, ch.old.rev, ch.old.ring, ch.old.hint
	case ch.known:
		op.If = driver.Absent
	default:
		op.If, op.Rev = ch.cond, ch.rev
	}
	switch {
	case ch.edits != nil:
		op.Do, op.Edits = driver.Patch, ch.edits
		if note := noteAfter(c, ch); ch.renew || ch.known && note != ch.old.note {
			op.PatchMeta, op.Row.Expires, op.Row.Note = true, ch.expiry(), note
		}
	case ch.next == nil && c.records.Ring > 0:
		op.Do, op.Row.Dead, op.Row.Expires = driver.Put, true, b.store.nowMillis()+c.retention.Milliseconds()
	case ch.next == nil:
		op.Do = driver.Delete
	case b.patches(c, op, ch):
	default:
		op.Do = driver.Put
		op.Row.Fields, op.Row.Extra, op.Row.Expires = ch.next.vals[len(c.key):], ch.next.extra, ch.next.expires
		op.Row.Note = noteAfter(c, ch)
	}
}

// addRows appends what the change does to the rows of one index.
func (b *builder) addRows(c *layoutC, x *index, ch *change) error {
	var err error
	b.before, b.after = b.before[:0], b.after[:0]
	hasOld := ch.known && ch.old.row && ch.old.vals != nil
	if hasOld && ch.next != nil && !x.changed(&ch.old.record, ch.next) {
		return nil
	}
	stays := hasOld && ch.next != nil && x.stays(&ch.old.record, ch.next)
	if hasOld && !stays {
		if b.before, err = b.storedEntries(b.before, c, x, &ch.key, ch.old.vals); err != nil {
			return err
		}
	}
	if ch.next != nil {
		if b.after, err = b.entries(b.after, c, x, &ch.key, ch.next.vals); err != nil {
			return err
		}
	}
	for i := range b.before {
		if e := &b.before[i]; !slices.Contains(b.after, *e) {
			op := b.op()
			op.Do, op.Table, op.Row.Key = driver.Delete, x.table, *e
		}
	}
	for i := range b.after {
		e := &b.after[i]
		there := stays || slices.Contains(b.before, *e)
		if !there || !x.table.Bare { // which has nothing that could change
			b.put(x, ch, e, there)
		}
	}
	return nil
}

// put appends the op that writes one row or claim. There says that the record has
// it already.
func (b *builder) put(x *index, ch *change, e *driver.Key, there bool) {
	op := b.op()
	op.Do, op.Table, op.Row.Key = driver.Put, x.table, *e
	if x.table.Bare {
		return
	}
	op.Row.Expires = ch.next.expires
	from := len(b.vals)
	if x.Unique {
		op.If = driver.Absent
		if there {
			op.If = driver.Present
		}
		b.vals = append(b.vals, driver.StringValue(ch.key.Partition+ch.key.Sort))
	}
	for _, at := range x.covers {
		b.vals = append(b.vals, ch.next.vals[at])
	}
	op.Row.Fields = b.vals[from:len(b.vals):len(b.vals)]
	if x.all {
		op.Row.Extra = ch.next.extra
	}
}

// merge joins ops of several changes on one key, which a commit may name once:
// a row or claim that one record gives up and another one takes.
func (b *builder) merge(c *layoutC) error {
	if len(b.ops) == 0 || b.owner[len(b.owner)-1] == b.owner[0] {
		return nil // one change names each key once
	}
	type id struct {
		t   *driver.Table
		key driver.Key
	}
	first := map[id]int{}
	kept := 0
	for i := range b.ops {
		op := &b.ops[i]
		key := id{op.Table, op.Row.Key}
		at, dup := first[key]
		switch {
		case !dup:
			first[key] = kept
			b.ops[kept], b.owner[kept] = *op, b.owner[i]
			kept++
		case op.Do == driver.Put && b.ops[at].Do == driver.Put:
			ch := b.changes[b.owner[i]]
			return ofKey(ch.key, taken(c, c.indexOf(op.Table), b.changes[b.owner[at]].key, ch))
		default:
			if op.Do == driver.Put {
				b.owner[at] = b.owner[i]
			}
			b.ops[at] = joined(b.ops[at], *op)
		}
	}
	b.ops, b.owner = b.ops[:kept], b.owner[:kept]
	return nil
}

// joined returns the op that does what a delete and a put of one key do, in
// either order: the row or claim was there, and changes hands.
func joined(a, b driver.Op) driver.Op {
	if a.Do == driver.Put {
		b = a
	}
	if b.Table.Class == driver.Claims {
		b.If = driver.Present
	}
	return b
}

// addNative checks what a change would make of the entries in a native index, which
// the store keeps: too large a key is refused as it is elsewhere.
func (b *builder) addNative(c *layoutC, x *index, ch *change) (err error) {
	if ch.next == nil {
		return nil
	}
	if b.after, err = b.entries(b.after[:0], c, x, &ch.key, ch.next.vals); err != nil || !x.Unique {
		return err
	}
	for _, e := range b.after {
		b.values = append(b.values, nativeValue{x: x, key: e})
	}
	return nil
}

// A nativeValue is a value that a change wants to have alone.
type nativeValue struct {
	x     *index
	key   driver.Key
	owner int // the change
}

// sharedValue returns the error for a value of a unique native index that two records
// of a group want.
func (b *builder) sharedValue(c *layoutC) error {
	if len(b.values) < 2 {
		return nil
	}
	first := make(map[nativeValue]int, len(b.values)) // the change that wants it
	for _, v := range b.values {
		owner := v.owner
		v.owner = 0
		if o, dup := first[v]; dup && o != owner {
			ch := b.changes[owner]
			return ofKey(ch.key, taken(c, v.x, b.changes[o].key, ch))
		}
		first[v] = owner
	}
	return nil
}

// A looseOp is a row or claim that is put before a commit, or dropped after it.
type looseOp struct {
	driver.Op
	x     *index
	owner int // the change that it belongs to
}

// addLoose appends what a change does to the entries of the loose index at a place:
// what is put before the commit, with its token, and what is dropped after it.
func (b *builder) addLoose(c *layoutC, at int, ch *change) error {
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
func noteAfter(c *layoutC, ch *change) string {
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
