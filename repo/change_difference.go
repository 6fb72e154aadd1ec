package repo

import (
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// patches makes op, on a record that was read whole, one that sends only what
// differs. It leaves op alone where the record is better sent whole: in a store
// within this process, which must write all of it in any case, where there is
// nothing to change, or much.
func (b *builder) patches(c *layoutC, op *driver.Op, ch *change) bool {
	if !ch.whole || !ch.old.live || c.facts.OneProcess {
		return false
	}
	from := len(b.edits)
	b.edits = appendDifferences(b.edits, len(c.key), &ch.old.record, ch.next)
	edits := b.edits[from:len(b.edits):len(b.edits)]
	if len(edits) == 0 || len(edits) > mostEdits {
		return false
	}
	op.Do, op.Edits = driver.Patch, edits
	if note := noteAfter(c, ch); ch.old.expires != ch.next.expires || note != ch.old.note {
		op.PatchMeta, op.Row.Expires, op.Row.Note = true, ch.next.expires, note
	}
	return true
}

// appendDifferences appends the edits that make next of old, whose first values
// are those of the key.
func appendDifferences(dst []driver.Edit, key int, old, next *record) []driver.Edit {
	for i := key; i < len(next.vals); i++ {
		if was, is := &old.vals[i], &next.vals[i]; !was.Equal(*is) {
			dst = append(dst, edit(i-key, "", *is))
		}
	}
	byName := func(p driver.Pair, name string) int { return strings.Compare(p.Name, name) }
	for _, p := range next.extra {
		at, there := slices.BinarySearchFunc(old.extra, p.Name, byName)
		if !there || !old.extra[at].Value.Equal(p.Value) {
			dst = append(dst, edit(-1, p.Name, p.Value))
		}
	}
	for _, p := range old.extra {
		if _, there := slices.BinarySearchFunc(next.extra, p.Name, byName); !there {
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
