package scan

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Part is what a read of a partition takes of one collection: its records there.
type Part struct {
	c     *Reader
	plan  *plan.Plan
	trail *trail // by which some of the records are found; nil if all are

	begin func()                                         // forgets what was read
	alone func(ctx context.Context, k *store.Call) error // reads by a range of its own
	add   func(b *readBuffer, row *driver.Row) error     // takes a row that was read
	Keep  func() int                                     // gives the caller what was read, and says how many records that are
	Err   error                                          // why it was not
}

// A List holds records of the caller's type.
type List interface {
	Reset()           // forgets them
	Next() any        // adds a zero record, and returns a pointer to it
	Len() int         // says how many there are
	Pick(which []int) // keeps some of them, in this order
	Keep()            // gives them to the caller
}

// Part returns the part of a collection, whose records Keep gives to the caller. Partition has the values of the
// partition's fields.
func (v *View) Part(k *store.Call, partition []any, found List) (*Part, error) {
	cols := v.c.Records.Partition
	if len(partition) != len(cols) {
		names := make([]string, len(cols))
		for i, col := range cols {
			names[i] = col.Name
		}
		return nil, failure.Invalid("the partition of %s is (%s), and the key has %d values", v.c.Name, strings.Join(names, ", "), len(partition))
	}
	var q plan.Query
	for i, col := range cols {
		q.Equal = append(q.Equal, plan.Equality{Field: col.Name, Value: partition[i]})
	}
	p, err := v.c.plan(k, q, v.by)
	if err != nil {
		return nil, err
	}
	part := &Part{c: v.c, plan: p, begin: found.Reset, Keep: func() int { found.Keep(); return found.Len() }}
	part.alone = func(ctx context.Context, k *store.Call) error {
		return v.findBy(ctx, k, p, func(t any, _ Position) bool {
			reflect.ValueOf(found.Next()).Elem().Set(reflect.ValueOf(t).Elem())
			return true
		})
	}
	part.add = func(b *readBuffer, row *driver.Row) error {
		rec, err := v.c.recordOfRow(b, p, row)
		if err != nil {
			return err
		}
		return v.into(found.Next(), &rec)
	}
	return part, nil
}

// ReadParts reads the parts of one partition, all at the same time, and those that lie together by one range where
// the store can do so. It leaves in each part why it could not be read.
func ReadParts(ctx context.Context, k *store.Call, parts []*Part) {
	if at := slices.IndexFunc(parts, func(p *Part) bool { return p.trail != nil }); at >= 0 {
		followAll(ctx, k, parts, at)
		return
	}
	var sets [][]*Part
	for _, part := range parts {
		root := part.plan.Table.Root().Name
		at := slices.IndexFunc(sets, func(set []*Part) bool { return set[0].plan.Table.Root().Name == root })
		if _, gathers := part.c.Store.Driver.(driver.Gatherer); at < 0 || !gathers {
			at, sets = len(sets), append(sets, nil)
		}
		sets[at] = append(sets[at], part)
	}
	k.AtOnce(len(sets), func(i int, k *store.Call) { readSet(ctx, k, sets[i]) })
}

// readSet reads parts that lie together.
func readSet(ctx context.Context, k *store.Call, set []*Part) {
	again := true
	if len(set) > 1 {
		again = gather(ctx, k, set)
	}
	for _, part := range set {
		if again && part.Err == nil {
			part.begin()
			part.Err = part.alone(ctx, k)
		} else {
			part.Err = cmp.Or(part.Err, part.c.answers(ctx, part.plan))
		}
	}
}

// gather reads parts by one range. It reports whether they are to be read again, since a record expired meanwhile.
func gather(ctx context.Context, k *store.Call, set []*Part) (again bool) {
	h := set[0].c.Store
	tables := make([]*driver.Table, len(set))
	for i, part := range set {
		tables[i] = part.plan.Table
		part.begin()
	}
	b := NewReadBuffer(0)
	defer b.Release()
	asked, bad := h.NowMillis(), false
	partition := set[0].plan.Parts[0].Key.Partition
	err := h.Driver.(driver.Gatherer).Gather(k.Asks(ctx, 1), tables, partition, func(i int, row *driver.Row) bool {
		k.Read(1)
		if i < 0 || i >= len(set) {
			set[0].Err, bad = fmt.Errorf("the store returned a row of table %d of %d: %w", i, len(set), driver.ErrInternal), true
			return false
		}
		again, bad = set[i].take(b, row, asked)
		return !again && !bad
	})
	if err != nil && !bad {
		set[0].Err = err
	}
	return again
}
