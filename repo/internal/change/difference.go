package change

import (
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
)

// patches makes op, on a record that was read whole, one that sends only what
// differs. It leaves op alone where the record is better sent whole: in a store
// within this process, which must write all of it in any case, where there is
// nothing to change, or much.
func (b *Builder) patches(c *layout.Layout, op *driver.Op, ch *Change) bool {
	if !ch.Whole || !ch.Old.Live || c.Facts.OneProcess {
		return false
	}
	from := len(b.edits)
	b.edits = appendDifferences(b.edits, len(c.Key), &ch.Old.Record, ch.Next)
	edits := b.edits[from:len(b.edits):len(b.edits)]
	if len(edits) == 0 || len(edits) > limit.MostEdits {
		return false
	}
	op.Do, op.Edits = driver.Patch, edits
	if note := metaAfter(c, ch); ch.Old.Expires != ch.Next.Expires || note != ch.Old.Meta {
		op.PatchMeta, op.Row.Expires, op.Row.Meta = true, ch.Next.Expires, note
	}
	return true
}

// appendDifferences appends the edits that make next of old, whose first values
// are those of the key.
func appendDifferences(dst []driver.Edit, key int, old, next *record.Record) []driver.Edit {
	for i := key; i < len(next.Vals); i++ {
		if was, is := &old.Vals[i], &next.Vals[i]; !was.Equal(*is) {
			dst = append(dst, edit(i-key, "", *is))
		}
	}
	byName := func(p driver.Pair, name string) int { return strings.Compare(p.Name, name) }
	for _, p := range next.Extra {
		at, there := slices.BinarySearchFunc(old.Extra, p.Name, byName)
		if !there || !old.Extra[at].Value.Equal(p.Value) {
			dst = append(dst, edit(-1, p.Name, p.Value))
		}
	}
	for _, p := range old.Extra {
		if _, there := slices.BinarySearchFunc(next.Extra, p.Name, byName); !there {
			dst = append(dst, edit(-1, p.Name, driver.Value{}))
		}
	}
	return dst
}

func edit(field int, name string, v driver.Value) driver.Edit {
	if v.IsNone() {
		return driver.Edit{Do: driver.Unset, Field: field, Name: name}
	}
	return driver.Edit{Do: driver.Set, Field: field, Name: name, Value: v}
}
