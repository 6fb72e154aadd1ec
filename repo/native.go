package repo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A native index is kept by the store: nothing is written for it, and a run of it has
// the records themselves, so that it covers whatever is wanted. It has no buckets, for
// the store spreads it as it likes.

// chooseKind makes x native if its kind says so, or leaves it open and the store would
// have it so.
func (c *compiler) chooseKind(x *index, t *driver.Table) {
	f := &c.store.facts
	switch x.Kind {
	case "", "auto":
		if !f.Native.Has || !f.PrefersNative && f.Unit != driver.UnitRecord {
			return
		}
	case "native":
		if !f.Native.Has {
			c.fault("index %s: kind native: %s keeps no index of its own: %s; use kind auto", x.name, f.Name, f.Native.Reason)
			return
		}
	case "table":
		return
	default:
		c.fault("index %s: kind %q is none of auto, table, native", x.name, x.Kind)
		return
	}
	if why := c.cannotKeep(x, t); why != "" {
		if x.Kind == "native" || f.Unit == driver.UnitRecord {
			c.fault("index %s: kind native: %s %s", x.name, f.Name, why)
		}
		return
	}
	x.native = true
	x.local = slices.Equal(x.Partition, c.schema.Partition)
	x.coverNothing()
	t.Native, t.Home, t.Fields = true, c.records, nil
	if x.Buckets > 0 {
		t.Partition = t.Partition[:len(t.Partition)-1]
	}
}

// cannotKeep says why the store cannot keep x by itself, and what to do; "" if it can.
func (c *compiler) cannotKeep(x *index, t *driver.Table) string {
	f := &c.store.facts
	if len(f.NativeNear) > 0 {
		return c.tooFar(x, t)
	}
	i := slices.IndexFunc(t.Sort, func(col driver.Column) bool { return !slices.Contains(f.NativeOrder, col.Kind) })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("has another order of %s than a key, which Sort has in %s; put it into Partition, or leave it out", t.Sort[i].Kind, t.Sort[i].Name)
}

// tooFar is cannotKeep for a store that finds by equality near the records.
func (c *compiler) tooFar(x *index, t *driver.Table) string {
	home, part := c.records, t.Partition[:len(x.part)]
	switch {
	case x.Unique:
		return "keeps nothing unique by an index of its own; use kind table"
	case x.multi >= 0:
		return fmt.Sprintf("looks into no lists, and %s is one; use kind table", c.cols[x.multi].Name)
	}
	for _, col := range home.Partition {
		switch {
		case slices.Contains(part, col):
		case len(home.Sort) == 0:
			return "finds records within one partition, and each record has one of its own here; use kind table"
		default:
			return fmt.Sprintf("finds records within one partition, and Partition lacks %s; use kind table, or add it if every query names it", col.Name)
		}
	}
	for _, col := range part {
		if !slices.Contains(home.Partition, col) && !(slices.Contains(home.Fields, col) && slices.Contains(c.store.facts.NativeNear, col.Kind)) {
			return fmt.Sprintf("finds nothing by %s, which is %s or part of the key; use kind table", col.Name, col.Kind)
		}
	}
	if len(t.Sort) > len(home.Sort) || !slices.Equal(t.Sort, home.Sort[:len(t.Sort)]) {
		return fmt.Sprintf("finds by equality, in the order of the keys: %s is not how their Sort, %s, begins; put into Partition what queries fix, or use kind table", listOf(x.Sort), listOf(c.schema.Sort))
	}
	return ""
}

func listOf(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

// nativeAccess returns how a shape that needs some fields is read from x: with what
// says at which place of the index a record is.
func (c *collection) nativeAccess(s *shape, x *index, needs []int) access {
	needs = slices.Concat(needs, x.needs)
	slices.Sort(needs)
	return c.recordAccess(s, slices.Compact(needs))
}

// addNative checks what a change would make of the entries in a native index, which
// the store keeps: too large a key is refused as it is elsewhere.
func (b *builder) addNative(c *collection, x *index, ch *change) (err error) {
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
func (b *builder) sharedValue(c *collection, writes []write) error {
	if len(b.values) < 2 {
		return nil
	}
	first := make(map[nativeValue]int, len(b.values)) // the change that wants it
	for _, v := range b.values {
		owner := v.owner
		v.owner = 0
		if o, taken := first[v]; taken && o != owner {
			w := &writes[owner]
			return ofKey(w.key, c.taken(v.x, writes[o].key, w))
		}
		first[v] = owner
	}
	return nil
}

// placeOf returns the place of a row of a run: its own Sort or, in a native index, that
// of the entry by which the record is there. There is none if the record, which another
// program wrote, has no such entry.
func (c *collection) placeOf(p *plan, row *driver.Row) (position, error) {
	if p.x == nil || !p.x.native {
		return position(row.Key.Sort), nil
	}
	b := newReadBuffer(0)
	defer b.release()
	rec, err := c.recordOfRow(b, p, row)
	if err != nil {
		return "", err
	}
	return c.placeIn(p, &row.Key, rec.vals)
}

// placeIn is placeOf for a record that was taken out of its row.
func (c *collection) placeIn(p *plan, key *driver.Key, vals []driver.Value) (position, error) {
	b := newBuilder()
	defer b.release()
	var err error
	if b.after, err = b.storedEntries(b.after[:0], c, p.x, key, vals); err != nil {
		return "", ofKey(*key, err)
	}
	for _, e := range b.after {
		if e.Partition == p.parts[0].Partition && p.has(e.Sort) {
			return position(e.Sort), nil
		}
	}
	return "", ofKey(*key, fmt.Errorf("the store found the record by index %s, in which it has no place: %w", p.x.name, ErrCorrupt))
}

// bounds completes the span of a native index with the values of its ends.
func (c *collection) bounds(p *plan, span *driver.Span) (err error) {
	if p.x == nil || !p.x.native {
		return nil
	}
	if span.Low, err = c.boundOf(p, span.Key.Partition, span.From); err == nil {
		span.High, err = c.boundOf(p, span.Key.Partition, span.To)
	}
	return err
}

// boundOf returns the end of a run that a text stands for: columns of entries, or what
// comes after them. "" is the end of the partition on that side, which needs no bound.
func (c *collection) boundOf(p *plan, partition, text string) (*driver.Bound, error) {
	if text == "" {
		return nil, nil
	}
	var b driver.Bound
	if head, over := driver.Before(text); over {
		b.Over, text = true, head
	}
	rest := text
	var err error
	for i := 0; i < len(p.table.Sort) && rest != ""; i++ {
		if b.Values, rest, err = driver.ParseParts(b.Values, rest, p.table.Sort[i:i+1]); err != nil {
			return nil, err
		}
	}
	if rest != "" {
		row := driver.Row{Key: driver.Key{Partition: partition, Sort: text}}
		key, err := c.recordKey(p.x, &row)
		if err != nil {
			return nil, err
		}
		b.Record = &key
	}
	return &b, nil
}
