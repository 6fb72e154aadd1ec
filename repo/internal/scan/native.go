package scan

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/plan"
)

// placeOf returns the place of a row of a run: its own Sort or, in a native index, that
// of the entry by which the record is there. There is none if the record, which another
// program wrote, has no such entry.
func (c *Reader) placeOf(p *plan.Plan, row *driver.Row) (Position, error) {
	if p.X == nil || !p.X.Native {
		return Position(row.Key.Sort), nil
	}
	b := NewReadBuffer(0)
	defer b.Release()
	rec, err := c.recordOfRow(b, p, row)
	if err != nil {
		return "", err
	}
	return c.placeIn(p, &row.Key, rec.Vals)
}

// placeIn is placeOf for a record that was taken out of its row.
func (c *Reader) placeIn(p *plan.Plan, key *driver.Key, vals []driver.Value) (Position, error) {
	b := layout.NewEntryMaker()
	defer b.Release()
	var err error
	if b.Keys, err = b.StoredEntries(b.Keys[:0], c.Layout, p.X, key, vals); err != nil {
		return "", failure.OfKey(*key, err)
	}
	for _, e := range b.Keys {
		if e.Partition == p.Parts[0].Partition && p.Has(e.Sort) {
			return Position(e.Sort), nil
		}
	}
	return "", failure.OfKey(*key, fmt.Errorf("the store found the record by index %s, in which it has no place: %w", p.X.ID, driver.ErrCorrupt))
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
