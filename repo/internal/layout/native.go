package layout

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
func (c *compiler) chooseKind(x *Index, t *driver.Table) {
	f := c.Facts
	switch x.Kind {
	case "", "auto":
		if !f.Native.Has || !f.PrefersNative && f.Scope != driver.ScopeRecord {
			return
		}
	case "native":
		if !f.Native.Has {
			c.fault("index %s: kind native: %s keeps no index of its own: %s; use kind auto", x.ID, f.Name, f.Native.Reason)
			return
		}
	case "table":
		return
	default:
		c.fault("index %s: kind %q is none of auto, table, native", x.ID, x.Kind)
		return
	}
	if why := c.cannotKeep(x, t); why != "" {
		if x.Kind == "native" || f.Scope == driver.ScopeRecord {
			c.fault("index %s: kind native: %s %s", x.ID, f.Name, why)
		}
		return
	}
	x.Native = true
	x.local = slices.Equal(x.Partition, c.schema.Partition)
	x.coverNothing()
	t.Native, t.Home, t.Fields = true, c.Records, nil
	if x.Buckets > 0 {
		t.Partition = t.Partition[:len(t.Partition)-1]
	}
}

// cannotKeep says why the store cannot keep x by itself, and what to do; "" if it can.
func (c *compiler) cannotKeep(x *Index, t *driver.Table) string {
	f := c.Facts
	for _, src := range slices.Concat(x.PartitionFrom, x.SortFrom) {
		if src.Path != nil {
			return fmt.Sprintf("keeps no index of a part of a field, as %s is; use kind table, or let Derive fill a field with it", c.NameOf(&src))
		}
	}
	if len(f.NativeLocal) > 0 {
		return c.tooFar(x, t)
	}
	i := slices.IndexFunc(t.Sort, func(col driver.Column) bool { return !slices.Contains(f.NativeOrder, col.Kind) })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("has another order of %s than a key, which Sort has in %s; put it into Partition, or leave it out", t.Sort[i].Kind, t.Sort[i].Name)
}

// tooFar is cannotKeep for a store whose native indexes are local.
func (c *compiler) tooFar(x *Index, t *driver.Table) string {
	home, part := c.Records, t.Partition[:len(x.PartitionFrom)]
	switch {
	case x.Unique:
		return "keeps nothing unique by an index of its own; use kind table"
	case x.Multi >= 0:
		return fmt.Sprintf("looks into no lists, and %s is one; use kind table", c.Cols[x.Multi].Name)
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
		if !slices.Contains(home.Partition, col) && !(slices.Contains(home.Fields, col) && slices.Contains(c.Facts.NativeLocal, col.Kind)) {
			return fmt.Sprintf("finds nothing by %s, which is %s or part of the key; use kind table", col.Name, col.Kind)
		}
	}
	if len(t.Sort) > len(home.Sort) || !slices.Equal(t.Sort, home.Sort[:len(t.Sort)]) {
		return fmt.Sprintf("finds by equality, in the order of the keys: %s is not how their Sort, %s, begins; put into Partition what queries fix, or use kind table", listOf(x.Sort), listOf(c.schema.Sort))
	}
	return ""
}

func listOf(names []string) string { return "[" + strings.Join(names, ", ") + "]" }
