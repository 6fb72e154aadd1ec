package scan

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/plan"
)

// sortOf returns the Sort of a row of a part or, in a native index, that of the entry by which the record is there.
// There is none if the record, which another program wrote, has no such entry.
func (c *Reader) sortOf(p *plan.Plan, part *plan.Part, row *driver.Row) (string, error) {
	if p.X == nil || !p.X.Native {
		return row.Key.Sort, nil
	}
	b := NewReadBuffer(0)
	defer b.Release()
	rec, err := c.recordOfRow(b, p, row)
	if err != nil {
		return "", err
	}
	e, in, err := c.entryIn(p, []plan.Part{*part}, &row.Key, rec.Vals)
	if err == nil && in == nil {
		err = c.noPlace(p, &row.Key)
	}
	return e.Sort, err
}

// placeOf returns where in the order of a plan a row of a table is.
func placeOf(p *plan.Plan, key *driver.Key) (Position, error) {
	if !p.IsSet() {
		return Position(key.Sort), nil
	}
	part := plan.PartOf(p.Parts, key)
	if part == nil {
		return "", failure.OfKey(*key, fmt.Errorf("the row lies outside of the ranges that were read: %w", driver.ErrInternal))
	}
	return Position(part.Place(key.Sort)), nil
}

// placeIn is placeOf for a record to which a native index led.
func (c *Reader) placeIn(p *plan.Plan, key *driver.Key, vals []driver.Value) (Position, error) {
	e, part, err := c.entryIn(p, p.Parts, key, vals)
	if err == nil && part == nil {
		err = c.noPlace(p, key)
	}
	if err != nil {
		return "", err
	}
	return Position(part.Place(e.Sort)), nil
}

func (c *Reader) noPlace(p *plan.Plan, key *driver.Key) error {
	return failure.OfKey(*key, fmt.Errorf("the store found the record by index %s, in which it has no place: %w", p.X.ID, driver.ErrCorrupt))
}

// entryIn returns the entry by which a record is in one of some parts of an index, a nil part if there is none.
func (c *Reader) entryIn(p *plan.Plan, parts []plan.Part, key *driver.Key, vals []driver.Value) (driver.Key, *plan.Part, error) {
	b := layout.NewEntryMaker()
	defer b.Release()
	var err error
	if b.Keys, err = b.StoredEntries(b.Keys[:0], c.Layout, p.X, key, vals); err != nil {
		return driver.Key{}, nil, failure.OfKey(*key, err)
	}
	for i := range b.Keys {
		if part := plan.PartOf(parts, &b.Keys[i]); part != nil {
			return b.Keys[i], part, nil
		}
	}
	return driver.Key{}, nil, nil
}

// Bounds completes the span of a native index with the values of its ends.
func (c *Reader) Bounds(p *plan.Plan, span *driver.Span) (err error) {
	if p.X == nil || !p.X.Native {
		return nil
	}
	if span.Low, err = c.boundOf(p, span.Key.Partition, span.From); err == nil {
		span.High, err = c.boundOf(p, span.Key.Partition, span.To)
	}
	return err
}

// boundOf returns the end of a run that a text stands for: columns of entries, or what
// comes after them. "" is the end of the partition on that side, which needs no bound.
func (c *Reader) boundOf(p *plan.Plan, partition, text string) (*driver.Bound, error) {
	if text == "" {
		return nil, nil
	}
	var b driver.Bound
	if head, over := driver.Before(text); over {
		b.Over, text = true, head
	}
	rest := text
	var err error
	for i := 0; i < len(p.Table.Sort) && rest != ""; i++ {
		if b.Values, rest, err = driver.ParseParts(b.Values, rest, p.Table.Sort[i:i+1]); err != nil {
			return nil, err
		}
	}
	if rest != "" {
		row := driver.Row{Key: driver.Key{Partition: partition, Sort: text}}
		key, err := c.RecordKey(p.X, &row)
		if err != nil {
			return nil, err
		}
		b.Record = &key
	}
	return &b, nil
}
