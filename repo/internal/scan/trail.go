package scan

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// A trail is what the part of a partition follows from which only some records are read.
type trail struct {
	plan.Trail
	again func() (plan.Trail, error) // plans it anew
	found map[string][]step          // by the value that leads to a record
}

// A step is a record, by its place among those that were read, and the value from which the trail goes on.
type step struct {
	i    int
	next string
}

// Trail returns the part of the records to which a trail leads from start.
func (v *View) Trail(k *store.Call, partition []any, start plan.Equality, from string, depth int, found List) (*Part, error) {
	part, err := v.Part(k, partition, found)
	if err != nil {
		return nil, err
	}
	if _, follows := v.c.Store.Driver.(driver.Follower); !follows {
		return nil, driver.Errorf("%s follows no references: %w", v.c.Store.Facts.Name, driver.ErrUnsupported)
	}
	if depth < 0 {
		return nil, failure.Invalid("depth %d is below 0", depth)
	}
	t := &trail{again: func() (plan.Trail, error) { return v.c.planner().Trail(part.plan.Query(), start, from, depth) }}
	if t.Trail, err = t.again(); err != nil {
		return nil, err
	}
	t.Partition = part.plan.Parts[0].Key.Partition
	k.Uses(t.Index.Name)
	part.trail, part.begin = t, func() { found.Reset(); t.found = map[string][]step{} }
	part.add = func(b *readBuffer, row *driver.Row) error {
		rec, err := v.c.recordOfRow(b, part.plan, row)
		if err != nil {
			return err
		}
		t.add(&rec, found.Len())
		return v.into(found.Next(), &rec)
	}
	part.Keep = func() int {
		found.Pick(t.reached())
		found.Keep()
		return found.Len()
	}
	return part, nil
}

// add notes a record that was read.
func (t *trail) add(rec *record.Record, i int) {
	to := textOf(rec.Vals[t.To])
	t.found[to] = append(t.found[to], step{i, textOf(rec.Vals[t.From])})
}

// textOf returns a value as a text, which is the same for equal values of a kind that keys have.
func textOf(v driver.Value) string {
	text, err := driver.AppendParts(nil, []driver.Column{{Kind: v.Kind()}}, []driver.Value{v})
	if err != nil {
		return "" // it is absent
	}
	return string(text)
}

// reached returns the places of the records that are reached from the start by records that are still there.
func (t *trail) reached() (list []int) {
	seen, level := map[string]bool{}, []string{textOf(t.Start)}
	for depth := 1; len(level) > 0 && (t.Depth == 0 || depth <= t.Depth); depth++ {
		var next []string
		for _, value := range level {
			if seen[value] {
				continue
			}
			seen[value] = true
			for _, s := range t.found[value] {
				if list = append(list, s.i); s.next != "" {
					next = append(next, s.next)
				}
			}
		}
		level = next
	}
	return list
}

// followAll reads parts of which one is a trail, at one instant.
func followAll(ctx context.Context, k *store.Call, parts []*Part, at int) {
	p := parts[at]
	order := append([]*Part{p}, append(parts[:at:at], parts[at+1:]...)...)
	for _, other := range order[1:] {
		if other.trail != nil {
			other.Err = failure.Invalid("one call follows one trail")
			return
		}
	}
	for again := true; again && p.Err == nil; {
		again = follow(ctx, k, order)
	}
	for _, part := range order {
		if part.Err == nil {
			part.Err = part.c.answers(ctx, part.plan)
		}
	}
	if now, err := p.trail.again(); p.Err == nil && (err != nil || now.Index != p.trail.Index) {
		p.Err = driver.Errorf("while %s was followed, another program wrote records without its fields: %w", p.trail.Index.Name, driver.ErrUnsupported)
	}
}

// follow reads the parts once, of which the first is a trail. It reports whether a record expired meanwhile.
func follow(ctx context.Context, k *store.Call, parts []*Part) (again bool) {
	p := parts[0]
	var beside []*driver.Table
	for i, part := range parts {
		if part.begin(); i > 0 {
			beside = append(beside, part.plan.Table)
		}
	}
	b := NewReadBuffer(0)
	defer b.Release()
	h, bad := p.c.Store, false
	asked := h.NowMillis()
	err := h.Driver.(driver.Follower).Follow(k.Asks(ctx, 1), p.trail.Trail.Trail, beside, func(i int, row *driver.Row) bool {
		k.Read(1)
		if i < 0 || i >= len(parts) {
			p.Err, bad = fmt.Errorf("the store returned a row of table %d of %d: %w", i, len(parts), driver.ErrInternal), true
			return false
		}
		again, bad = parts[i].take(b, row, asked)
		return !again && !bad
	})
	if err != nil && !bad && !again {
		p.Err = err
	}
	return again
}

// take takes a row that was asked for at some time. It reports whether it expired since, and whether it is bad, which
// Err tells.
func (p *Part) take(b *readBuffer, row *driver.Row, asked int64) (again, bad bool) {
	if p.c.Store.ExpiredSince(asked, row.Expires) {
		return true, false
	}
	if row.Expires != 0 && row.Expires <= asked {
		return false, false
	}
	if p.Err = store.CheckWidth(row, p.plan.Table, nil); p.Err == nil {
		p.Err = p.add(b, row)
	}
	return false, p.Err != nil
}
