package repo

import (
	"fmt"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A stored is what the store has under a key.
type stored struct {
	record
	key  driver.Key
	row  bool // there is a row; it may be dead or expired
	live bool // there is a record
	rev  driver.Token
	hint uint64
}

// A change turns one record into another: from nothing for an insert, into
// nothing for a delete.
type change struct {
	key   driver.Key
	known bool          // old says what is there; else the record has no index rows at stake
	old   stored        // with known
	next  *record       // nil deletes
	edits []driver.Edit // if set, the record is patched, not written whole
	renew bool          // of a patch: the expiry changes, too
	cond  driver.Cond   // without known
	rev   driver.Token  // for AtRev
}

// A builder gathers the ops of a commit. Its slices are reused.
type builder struct {
	ops    []driver.Op
	owner  []int // by op: the change it belongs to
	text   []byte
	vals   []driver.Value
	before []entry
	after  []entry
}

var builders = sync.Pool{New: func() any { return new(builder) }}

func newBuilder() *builder {
	b := builders.Get().(*builder)
	b.ops, b.owner, b.vals = b.ops[:0], b.owner[:0], b.vals[:0]
	return b
}

// release gives b back, without what it refers to.
func (b *builder) release() {
	clear(b.ops[:cap(b.ops)])
	clear(b.vals[:cap(b.vals)])
	clear(b.before[:cap(b.before)])
	clear(b.after[:cap(b.after)])
	builders.Put(b)
}

// An entry is the key of one index row or claim of a record.
type entry struct {
	part, sort string
	parts      []driver.Value
}

// add appends the ops of a change, the record's own first.
func (b *builder) add(c *collection, i int, ch *change) error {
	b.ops = append(b.ops, c.recordOp(ch))
	rows := 0
	for _, x := range c.indexes {
		if err := b.addRows(c, x, ch); err != nil {
			return fmt.Errorf("index %s: %w", x.name, err)
		}
		rows += x.rowsOf(ch.next)
	}
	if rows > maxRows {
		return fmt.Errorf("record has %d index rows, at most %d: %w", rows, maxRows, ErrTooLarge)
	}
	for len(b.owner) < len(b.ops) {
		b.owner = append(b.owner, i)
	}
	return nil
}

// rowsOf returns how many rows a record has in x at most.
func (x *index) rowsOf(rec *record) int {
	switch {
	case rec == nil:
		return 0
	case x.multi >= 0:
		return len(rec.vals[x.multi].List())
	}
	return 1
}

// recordOp returns the op on the record itself.
func (c *collection) recordOp(ch *change) driver.Op {
	op := driver.Op{Table: c.records, Row: driver.Row{Key: ch.key}, If: ch.cond, Rev: ch.rev}
	if ch.known {
		op.If, op.Rev, op.Row.Hint = driver.Absent, driver.Token{}, 0
		if ch.old.row {
			op.If, op.Rev, op.Row.Hint = driver.AtRev, ch.old.rev, ch.old.hint
		}
	}
	switch {
	case ch.edits != nil:
		op.Do, op.Edits = driver.Patch, ch.edits
		if ch.renew {
			op.PatchMeta, op.Row.Expires = true, ch.next.expires
		}
	case ch.next == nil && c.records.Ring > 0:
		op.Do, op.Row.Dead, op.Row.Expires = driver.Put, true, c.store.nowMillis()+tombstoneMillis
	case ch.next == nil:
		op.Do = driver.Delete
	default:
		op.Do = driver.Put
		op.Row.Fields, op.Row.Extra, op.Row.Expires = ch.next.vals[len(c.key):], ch.next.extra, ch.next.expires
	}
	return op
}

// addRows appends what the change does to the rows of one index.
func (b *builder) addRows(c *collection, x *index, ch *change) error {
	var err error
	b.before, b.after = b.before[:0], b.after[:0]
	hasOld := ch.known && ch.old.row && ch.old.vals != nil
	if hasOld && ch.next != nil && !x.changed(&ch.old.record, ch.next) {
		return nil
	}
	if hasOld {
		if b.before, err = b.entries(b.before, c, x, ch.key, ch.old.vals); err != nil {
			return err
		}
	}
	if ch.next != nil {
		if b.after, err = b.entries(b.after, c, x, ch.key, ch.next.vals); err != nil {
			return err
		}
	}
	for i := range b.before {
		if !hasEntry(b.after, &b.before[i]) {
			b.ops = append(b.ops, driver.Op{Do: driver.Delete, Table: x.table, Row: driver.Row{Key: b.before[i].key()}})
		}
	}
	for i := range b.after {
		b.ops = append(b.ops, b.put(x, ch, &b.after[i]))
	}
	return nil
}

// changed reports whether the rows of x differ between two states of a record.
func (x *index) changed(old, next *record) bool {
	if x.all || old.expires != next.expires {
		return true // a row that stands for the record has its version, too
	}
	for _, at := range x.needs {
		if !old.vals[at].Equal(next.vals[at]) {
			return true
		}
	}
	return false
}

func (e *entry) key() driver.Key {
	return driver.Key{Partition: e.part, Sort: e.sort, Parts: e.parts}
}

func hasEntry(list []entry, e *entry) bool {
	return slices.ContainsFunc(list, func(o entry) bool { return o.part == e.part && o.sort == e.sort })
}

// put returns the op that writes one row or claim.
func (b *builder) put(x *index, ch *change, e *entry) driver.Op {
	op := driver.Op{Do: driver.Put, Table: x.table, Row: driver.Row{Key: e.key(), Expires: ch.next.expires}}
	from := len(b.vals)
	if x.Unique {
		op.If = driver.Absent
		if hasEntry(b.before, e) {
			op.If = driver.Present // it is this record's already
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
	return op
}

// entries appends the keys of the rows that x has for a record.
func (b *builder) entries(dst []entry, c *collection, x *index, key driver.Key, vals []driver.Value) ([]entry, error) {
	if missing(x.part, vals) || missing(x.sort, vals) {
		return dst, nil
	}
	if x.multi < 0 {
		e, err := b.entry(x, key, vals, driver.Value{})
		return append(dst, e), err
	}
	list := vals[x.multi].List()
	if len(list) > maxRows {
		return dst, fmt.Errorf("list %s has %d elements, at most %d: %w", c.cols[x.multi].Name, len(list), maxRows, ErrTooLarge)
	}
	for i, elem := range list {
		if slices.ContainsFunc(list[:i], elem.Equal) {
			continue
		}
		e, err := b.entry(x, key, vals, elem)
		if err != nil {
			return dst, err
		}
		dst = append(dst, e)
	}
	return dst, nil
}

func missing(srcs []source, vals []driver.Value) bool {
	for _, src := range srcs {
		if vals[src.at].IsNone() {
			return true
		}
	}
	return false
}

// entry returns the key of the row of x for a record and, in an index over the
// elements of a list, one element.
func (b *builder) entry(x *index, key driver.Key, vals []driver.Value, elem driver.Value) (entry, error) {
	t, from := x.table, len(b.vals)
	b.gather(x.part, vals, elem)
	if x.Buckets > 0 {
		b.vals = append(b.vals, driver.IntValue(bucketOf(key, x.Buckets)))
	}
	parts := len(b.vals) - from
	b.gather(x.sort, vals, elem)
	text, err := driver.AppendParts(b.text[:0], t.Partition, b.vals[from:])
	if err != nil {
		return entry{}, err
	}
	cut := len(text)
	text, err = driver.AppendParts(text, t.Sort[:len(x.sort)], b.vals[from+parts:])
	if err != nil {
		return entry{}, err
	}
	if len(text) > maxKey {
		return entry{}, fmt.Errorf("index key of %d bytes, at most %d: %w", len(text), maxKey, ErrTooLarge)
	}
	text = b.suffix(text, x, key)
	b.text = text
	s := string(text)
	return entry{part: s[:cut], sort: s[cut:], parts: b.vals[from:len(b.vals):len(b.vals)]}, nil
}

func (b *builder) gather(srcs []source, vals []driver.Value, elem driver.Value) {
	for _, src := range srcs {
		if src.elem {
			b.vals = append(b.vals, elem)
		} else {
			b.vals = append(b.vals, vals[src.at])
		}
	}
}

// suffix appends the record's key, with which the rows of an index end.
func (b *builder) suffix(text []byte, x *index, key driver.Key) []byte {
	if x.Unique {
		return text
	}
	parts := key.Parts
	if x.local {
		parts = parts[len(x.part):]
	} else {
		text = append(text, key.Partition...)
	}
	b.vals = append(b.vals, parts...)
	return append(text, key.Sort...)
}

func bucketOf(key driver.Key, buckets int) int64 {
	h := fnv.New32a()
	h.Write([]byte(key.Partition))
	h.Write([]byte(key.Sort))
	return int64(h.Sum32() % uint32(buckets))
}

// recordKey returns the key of the record that a row or claim of x belongs to.
func (c *collection) recordKey(x *index, row *driver.Row) (driver.Key, error) {
	text := ""
	switch {
	case x.Unique && len(row.Fields) > 0:
		text = row.Fields[0].Str()
	case !x.Unique:
		_, rest, ok := driver.CutParts(row.Key.Sort, x.table.Sort[:len(x.sort)])
		if ok && x.local {
			return driver.Key{Partition: row.Key.Partition, Sort: rest}, nil
		}
		text = rest
	}
	head, rest, ok := driver.CutParts(text, c.records.Partition)
	if !ok {
		return driver.Key{}, fmt.Errorf("a row of index %s names no record: %w", x.name, ErrCorrupt)
	}
	return driver.Key{Partition: head, Sort: rest}, nil
}

// merge joins ops of several changes on one key, which a commit may name once:
// a row or claim that one record gives up and another one takes.
func (b *builder) merge() error {
	if b.owner[len(b.owner)-1] == b.owner[0] {
		return nil // one change names each key once
	}
	type id struct {
		t          *driver.Table
		part, sort string
	}
	first := map[id]int{}
	kept := 0
	for i := range b.ops {
		op := &b.ops[i]
		key := id{op.Table, op.Row.Key.Partition, op.Row.Key.Sort}
		at, dup := first[key]
		switch {
		case !dup:
			first[key] = kept
			b.ops[kept], b.owner[kept] = *op, b.owner[i]
			kept++
		case op.Do == driver.Put && b.ops[at].Do == driver.Put:
			return fmt.Errorf("two records of the commit have the same value in %s: %w", op.Table.Name, ErrExists)
		default:
			b.ops[at], b.owner[at] = joined(b.ops[at], *op), b.owner[i]
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
