package change

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
)

// As long as a unique index is not ready, a record may lack its claim, and another record may have one for the same
// value. So who has a claim is looked up before it is put or removed.

// A Claim is what is there under the key of a claim. Its Rev is zero if nothing is.
type Claim struct {
	X   *layout.Index
	Row driver.Row
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

// addUnsettled is AddRows for a unique index that is not ready.
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
