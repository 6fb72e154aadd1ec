package change

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
)

// As long as a unique index is not ready, a record may lack its claim, and another record may have one for the same
// value. So may a record that has expired, of an index that was filled since: nobody fills it for such records. So who
// has a claim is looked up before it is put or removed.

// A Claim is what is there under the key of a claim. Its Rev is zero if nothing is.
type Claim struct {
	X   *layout.Index
	Row driver.Row
}

// Unsettled returns the unique indexes with the records in which somebody else may have the claims of the record that
// is there.
func (ch *Change) Unsettled(c *layout.Layout) []*layout.Index {
	if !ch.isOfExpired() {
		return c.Unsettled
	}
	var all []*layout.Index
	for _, x := range c.Indexes {
		if x.Unique && !x.Remote && !x.Native {
			all = append(all, x)
		}
	}
	return all
}

// isOfExpired reports whether the record that is there has expired, so that it may lack rows.
func (ch *Change) isOfExpired() bool {
	return ch.Known && ch.Old.Row && !ch.Old.Live && ch.Old.Vals != nil
}

// ClaimKeys returns the keys of the claims that a change may put or remove in an index.
func (b *Builder) ClaimKeys(c *layout.Layout, x *layout.Index, ch *Change) ([]driver.Key, error) {
	if err := b.entriesOf(c, x, ch); err != nil {
		return nil, err
	}
	keys := slices.Clone(b.before)
	for _, e := range b.after {
		if !slices.Contains(keys, e) {
			keys = append(keys, e)
		}
	}
	return keys, nil
}

// entriesOf sets b.before and b.after to the entries that a record has in an index, and will have.
func (b *Builder) entriesOf(c *layout.Layout, x *layout.Index, ch *Change) (err error) {
	b.before, b.after = b.before[:0], b.after[:0]
	if ch.Known && ch.Old.Row && ch.Old.Vals != nil {
		if b.before, err = b.StoredEntries(b.before, c, x, &ch.Key, ch.Old.Vals); err != nil {
			return err
		}
	}
	if ch.Next != nil && x.Stage != layout.Declared {
		b.after, err = b.Entries(b.after, c, x, &ch.Key, ch.Next.Vals)
	}
	return err
}

// addUnsettled is AddRows for an index that Unsettled returns.
func (b *Builder) addUnsettled(c *layout.Layout, x *layout.Index, ch *Change) error {
	if err := b.entriesOf(c, x, ch); err != nil {
		return err
	}
	owner := ch.Key.Partition + ch.Key.Sort
	for i := range ch.Claims {
		row := &ch.Claims[i].Row
		if ch.Claims[i].X != x {
			continue
		}
		own := !row.Rev.IsZero() && len(row.Fields) > 0 && row.Fields[0].Str() == owner
		switch {
		case slices.Contains(b.after, row.Key):
			from := len(b.Ops)
			b.put(x, ch, &row.Key, false)
			if op := &b.Ops[from]; own {
				op.If, op.Rev = driver.AtRev, row.Rev
			}
		case own:
			op := b.Op()
			op.Do, op.Table, op.Row.Key, op.If, op.Rev = driver.Delete, x.Table, row.Key, driver.AtRev, row.Rev
		}
	}
	return nil
}
