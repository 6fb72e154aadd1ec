package repo

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// placeOf returns the place of a row of a run: its own Sort or, in a native index, that
// of the entry by which the record is there. There is none if the record, which another
// program wrote, has no such entry.
func (c *reader) placeOf(p *plan, row *driver.Row) (position, error) {
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
func (c *reader) placeIn(p *plan, key *driver.Key, vals []driver.Value) (position, error) {
	b := newEntryMaker()
	defer b.release()
	var err error
	if b.keys, err = b.storedEntries(b.keys[:0], c.layoutC, p.x, key, vals); err != nil {
		return "", ofKey(*key, err)
	}
	for _, e := range b.keys {
		if e.Partition == p.parts[0].Partition && p.has(e.Sort) {
			return position(e.Sort), nil
		}
	}
	return "", ofKey(*key, fmt.Errorf("the store found the record by index %s, in which it has no place: %w", p.x.name, driver.ErrCorrupt))
}

// bounds completes the span of a native index with the values of its ends.
func (c *reader) bounds(p *plan, span *driver.Span) (err error) {
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
func (c *reader) boundOf(p *plan, partition, text string) (*driver.Bound, error) {
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
