package change

import (
	"fmt"
	"slices"
	"sync"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Builder gathers the ops of a commit. Its slices are reused.
type Builder struct {
	store   *store.Handle
	Changes []*Change        // that were added, by number
	layouts []*layout.Layout // theirs
	Ops     []driver.Op
	edits   []driver.Edit // of ops that patch instead of writing a record whole
	Owner   []int         // by op: the change it belongs to
	layout.EntryMaker
	before []driver.Key // of the index rows or claims that a record has in one index
	after  []driver.Key

	Token driver.Token // of the commit
	Puts  []RemoteOp   // before it
	Drops []RemoteOp   // after it

	values []nativeValue // that the records will have alone
}

var builders = sync.Pool{New: func() any { return new(Builder) }}

// NewBuilder returns a builder for one commit. Release it afterwards.
func NewBuilder(store *store.Handle) *Builder {
	b := builders.Get().(*Builder)
	b.store = store
	b.Ops, b.edits, b.Owner, b.Vals = b.Ops[:0], b.edits[:0], b.Owner[:0], b.Vals[:0]
	return b
}

// Release gives b back, without what it refers to.
func (b *Builder) Release() {
	clear(b.Ops[:cap(b.Ops)])
	clear(b.edits[:cap(b.edits)])
	clear(b.Vals[:cap(b.Vals)])
	clear(b.before[:cap(b.before)])
	clear(b.after[:cap(b.after)])
	b.Puts, b.Drops, b.values, b.Token, b.store = nil, nil, nil, driver.Token{}, nil
	clear(b.Changes)
	clear(b.layouts)
	b.Changes, b.layouts = b.Changes[:0], b.layouts[:0]
	builders.Put(b)
}

// Add appends the ops of a change, the record's own first.
func (b *Builder) Add(c *layout.Layout, i int, ch *Change) error {
	for len(b.Changes) <= i {
		b.Changes, b.layouts = append(b.Changes, nil), append(b.layouts, nil)
	}
	b.Changes[i], b.layouts[i] = ch, c
	from, wanted := len(b.Puts), len(b.values)
	if c.HasRemote && ch.Known {
		ch.tokens = make([][]driver.Token, len(c.Indexes))
	}
	at := len(b.Ops)
	b.Op()
	rows := 0
	for j, x := range c.Indexes {
		var err error
		switch {
		case x.Native:
			err = b.addNative(c, x, ch)
		case !x.Remote:
			err = b.AddRowsOf(c, x, ch)
		case ch.Known: // else it is a patch of other fields
			err = b.addRemote(c, j, ch)
		}
		if err != nil {
			return fmt.Errorf("index %s: %w", x.ID, err)
		}
		rows += x.RowsOf(ch.Next)
	}
	if rows > limit.MaxRows {
		return fmt.Errorf("record has %d index rows, at most %d: %w", rows, limit.MaxRows, driver.ErrTooLarge)
	}
	b.setRecordOp(c, &b.Ops[at], ch)
	for len(b.Owner) < len(b.Ops) {
		b.Owner = append(b.Owner, i)
	}
	for j := from; j < len(b.Puts); j++ {
		b.Puts[j].Owner = i
	}
	for j := wanted; j < len(b.values); j++ {
		b.values[j].owner = i
	}
	return nil
}

// Op appends an op and returns it, to be filled in.
func (b *Builder) Op() *driver.Op {
	b.Ops = append(b.Ops, driver.Op{})
	return &b.Ops[len(b.Ops)-1]
}

// Check appends the op that sees whether the record of a change is as it is expected, without writing
// it. What is known of it must not have changed: so a record that expired, or was deleted and has left
// a row, counts as one that is not there as long as the row is the one that was read.
func (b *Builder) Check(c *layout.Layout, i int, ch *Change) {
	op := b.Op()
	op.Do, op.Table, op.Row.Key = driver.Check, c.Records, ch.Key
	setCondition(op, ch)
	op.Row.Ring = nil
	b.Owner = append(b.Owner, i)
}

// setCondition gives op, on a record, the condition of a change.
func setCondition(op *driver.Op, ch *Change) {
	switch {
	case ch.Known && ch.Old.Row:
		op.If, op.Rev, op.Row.Ring, op.Row.Hint = driver.AtRev, ch.Old.Rev, ch.Old.Ring, ch.Old.Hint
	case ch.Known:
		op.If = driver.Absent
	default:
		op.If, op.Rev = ch.Cond, ch.Rev
	}
}

// setRecordOp makes op, which is zero, the one on the record itself.
func (b *Builder) setRecordOp(c *layout.Layout, op *driver.Op, ch *Change) {
	op.Table, op.Row.Key = c.Records, ch.Key
	setCondition(op, ch)
	switch {
	case ch.Edits != nil:
		op.Do, op.Edits = driver.Patch, ch.Edits
		if note := metaAfter(c, ch); ch.Renew || ch.Known && note != ch.Old.Meta {
			op.PatchMeta, op.Row.Expires, op.Row.Meta = true, ch.expiry(), note
		}
	case ch.Next == nil && c.Records.Ring > 0:
		op.Do, op.Row.Dead, op.Row.Expires = driver.Put, true, b.store.NowMillis()+c.Retention.Milliseconds()
	case ch.Next == nil:
		op.Do = driver.Delete
	case b.patches(c, op, ch):
	default:
		op.Do = driver.Put
		op.Row.Fields, op.Row.Extra, op.Row.Expires = ch.Next.Vals[len(c.Key):], ch.Next.Extra, ch.Next.Expires
		op.Row.Meta = metaAfter(c, ch)
	}
}

// AddRowsOf appends what the change does to the rows of one index, which may not be ready.
func (b *Builder) AddRowsOf(c *layout.Layout, x *layout.Index, ch *Change) error {
	if x.Unique && slices.Contains(ch.Unsettled(c), x) {
		return b.addUnsettled(c, x, ch)
	}
	return b.AddRows(c, x, ch)
}

// AddRows appends what the change does to the rows of one index.
func (b *Builder) AddRows(c *layout.Layout, x *layout.Index, ch *Change) error {
	var err error
	b.before, b.after = b.before[:0], b.after[:0]
	hasOld := ch.Known && ch.Old.Row && ch.Old.Vals != nil
	whole := hasOld && ch.Next != nil && !ch.isOfExpired() // the record has all its rows
	if whole && !x.Changed(&ch.Old.Record, ch.Next) {
		return nil
	}
	removes := x.Stage == layout.Declared
	stays := whole && !removes && x.Stays(&ch.Old.Record, ch.Next)
	if hasOld && !stays {
		if b.before, err = b.StoredEntries(b.before, c, x, &ch.Key, ch.Old.Vals); err != nil {
			return err
		}
	}
	if ch.Next != nil && !removes {
		if b.after, err = b.Entries(b.after, c, x, &ch.Key, ch.Next.Vals); err != nil {
			return err
		}
	}
	for i := range b.before {
		if e := &b.before[i]; !slices.Contains(b.after, *e) {
			op := b.Op()
			op.Do, op.Table, op.Row.Key = driver.Delete, x.Table, *e
		}
	}
	for i := range b.after {
		e := &b.after[i]
		there := stays || whole && slices.Contains(b.before, *e)
		if !there || !x.Table.KeyOnly { // which has nothing that could change
			b.put(x, ch, e, there)
		}
	}
	return nil
}

// put appends the op that writes one row or claim. There says that the record has
// it already.
func (b *Builder) put(x *layout.Index, ch *Change, e *driver.Key, there bool) {
	op := b.Op()
	op.Do, op.Table, op.Row.Key = driver.Put, x.Table, *e
	if x.Table.KeyOnly {
		return
	}
	op.Row.Expires = ch.Next.Expires
	from := len(b.Vals)
	if x.Unique {
		op.If = driver.Absent
		if there {
			op.If = driver.Present
		}
		b.Vals = append(b.Vals, driver.StringValue(ch.Key.Partition+ch.Key.Sort))
	}
	for _, at := range x.CoverAt {
		b.Vals = append(b.Vals, ch.Next.Vals[at])
	}
	op.Row.Fields = b.Vals[from:len(b.Vals):len(b.Vals)]
	if x.All {
		op.Row.Extra = ch.Next.Extra
	}
}

// Merge joins ops of several changes on one key, which a commit may name once:
// a row or claim that one record gives up and another one takes.
func (b *Builder) Merge() error {
	if len(b.Ops) == 0 || b.Owner[len(b.Owner)-1] == b.Owner[0] {
		return nil // one change names each key once
	}
	type id struct {
		t   *driver.Table
		key driver.Key
	}
	first := map[id]int{}
	kept := 0
	for i := range b.Ops {
		op := &b.Ops[i]
		key := id{op.Table, op.Row.Key}
		at, dup := first[key]
		switch {
		case !dup:
			first[key] = kept
			b.Ops[kept], b.Owner[kept] = *op, b.Owner[i]
			kept++
		case op.Do == driver.Put && b.Ops[at].Do == driver.Put:
			return b.shared(b.layouts[b.Owner[i]].IndexOf(op.Table), b.Owner[at], b.Owner[i])
		default:
			if op.Do == driver.Put {
				b.Owner[at] = b.Owner[i]
			}
			b.Ops[at] = joined(b.Ops[at], *op)
		}
	}
	b.Ops, b.Owner = b.Ops[:kept], b.Owner[:kept]
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
func (b *Builder) addNative(c *layout.Layout, x *layout.Index, ch *Change) (err error) {
	if ch.Next == nil {
		return nil
	}
	if b.after, err = b.Entries(b.after[:0], c, x, &ch.Key, ch.Next.Vals); err != nil || !x.Unique {
		return err
	}
	for _, e := range b.after {
		b.values = append(b.values, nativeValue{x: x, key: e})
	}
	return nil
}

// A nativeValue is a value that a change wants to have alone.
type nativeValue struct {
	x     *layout.Index
	key   driver.Key
	owner int // the change
}

// SharedValue returns the error for a value of a unique native index that two records
// of a group want.
func (b *Builder) SharedValue() error {
	if len(b.values) < 2 {
		return nil
	}
	first := make(map[nativeValue]int, len(b.values)) // the change that wants it
	for _, v := range b.values {
		owner := v.owner
		v.owner = 0
		if o, dup := first[v]; dup && o != owner {
			return b.shared(v.x, o, owner)
		}
		first[v] = owner
	}
	return nil
}

// A RemoteOp is a row or claim that is put before a commit, or dropped after it.
type RemoteOp struct {
	driver.Op
	X     *layout.Index
	Owner int // the change that it belongs to
}

// addRemote appends what a change does to the entries of the remote index at a place:
// what is put before the commit, with its token, and what is dropped after it.
func (b *Builder) addRemote(c *layout.Layout, at int, ch *Change) error {
	x := c.Indexes[at]
	var err error
	b.before, b.after = b.before[:0], b.after[:0]
	hasOld := ch.Known && ch.Old.Row && ch.Old.Vals != nil
	var held []driver.Token
	if hasOld {
		held = ch.Old.Tokens[at]
		if b.before, err = b.StoredEntries(b.before, c, x, &ch.Key, ch.Old.Vals); err != nil {
			return err
		}
	}
	if ch.Next != nil && x.Stage != layout.Declared {
		if b.after, err = b.Entries(b.after, c, x, &ch.Key, ch.Next.Vals); err != nil {
			return err
		}
	}
	var base driver.Value
	if !ch.Old.Rev.IsZero() {
		base = driver.StringValue(ch.Old.Rev.String())
	}
	tokens := make([]driver.Token, len(b.after))
	for i, e := range b.after {
		if j := slices.Index(b.before, e); j >= 0 && j < len(held) {
			tokens[i] = held[j] // an entry that stays costs nothing
			continue
		}
		tokens[i] = b.Token
		b.PutRemote(x, ch, e, base)
	}
	for j, e := range b.before {
		if j < len(held) && !slices.Contains(b.after, e) {
			b.dropRemote(x, e, held[j])
		}
	}
	ch.tokens[at] = tokens
	return nil
}

// PutRemote adds the row, or claim, of a remote index, which is put before the commit.
func (b *Builder) PutRemote(x *layout.Index, ch *Change, e driver.Key, base driver.Value) {
	op := RemoteOp{X: x}
	op.Do, op.Table, op.Row.Key = driver.Put, x.Table, x.TokenKey(e, b.Token)
	if x.Unique {
		op.If = driver.Absent
		op.Row.Fields = append(op.Row.Fields, driver.StringValue(ch.Key.Partition+ch.Key.Sort))
	}
	op.Row.Fields = append(op.Row.Fields, base)
	b.Puts = append(b.Puts, op)
}

func (b *Builder) dropRemote(x *layout.Index, e driver.Key, token driver.Token) {
	b.Drops = append(b.Drops, RemoteOp{Op: x.DropOf(x.TokenKey(e, token), token), X: x})
}

// metaAfter returns the Meta that a record has after a change.
func metaAfter(c *layout.Layout, ch *Change) string {
	if ch.tokens == nil {
		return ch.Old.Meta
	}
	return c.MetaOf(ch.tokens)
}

// expiry returns the expiry that a record has after a patch.
func (ch *Change) expiry() int64 {
	if ch.Renew {
		return ch.Next.Expires
	}
	return ch.Old.Expires
}
