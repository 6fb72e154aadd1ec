package conformance

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo/driver"
)

// treeFaults are those of rules on trees, kind by kind.
func treeFaults() map[string]fault {
	all := map[string]fault{}
	for _, kind := range []string{"adjacency", "path", "ancestors", "nested sets", "document", "spread adjacency", "spread ancestors"} {
		list := map[string]fault{
			"lists":              losesWrites(3),
			"opposite moves":     forgets(driver.AtRev, driver.Present),
			"insert and delete":  without(driver.Check, driver.Records),
			"writer that stops":  losesWrites(130),
			"reads during moves": oldGuards,
			"histories":          losesGuards,
		}
		switch kind {
		case "nested sets": // an insert writes the parent, too
			list["insert and delete"] = noRows()
		case "document": // which has no other record
			list["insert and delete"] = forgets(driver.AtRev, driver.Present)
			list["writer that stops"] = losesWrites(2)
		}
		named := map[string]fault{}
		for name, f := range list {
			named[kind+": "+name] = f
		}
		maps.Copy(all, grouped("hierarchies", named))
	}
	return all
}

// losesWrites leaves out each of so many changes of records.
func losesWrites(every int64) fault {
	return func(b *broken) {
		var n atomic.Int64
		b.op = func(op *driver.Op) bool {
			changes := op.Do == driver.Put || op.Do == driver.Patch || op.Do == driver.Delete
			return !changes || op.Table.Class != driver.Records || n.Add(1)%every != 0
		}
	}
}

// oldGuards reads the guard of a tree as it was first.
func oldGuards(b *broken) {
	first := map[driver.Key]driver.Row{}
	var mu sync.Mutex
	b.got = func(t *driver.Table, keys []driver.Key, _ []int, rows []driver.Row) {
		mu.Lock()
		defer mu.Unlock()
		if !isGuard(t) {
			return
		}
		for i, key := range keys {
			if old, ok := first[key]; ok {
				rows[i] = double.CopyRow(&old)
			} else if !rows[i].Rev.IsZero() {
				first[key] = double.CopyRow(&rows[i])
			}
		}
	}
}

func isGuard(t *driver.Table) bool { return strings.HasSuffix(t.Name, "_trees") }

// losesGuards takes no notice of the version of a guard.
func losesGuards(b *broken) {
	b.op = func(op *driver.Op) bool {
		if isGuard(op.Table) && op.If == driver.AtRev {
			op.If = driver.Present
		}
		return true
	}
}

// hidesPending reads guards of trees as if nothing was pending.
func hidesPending(b *broken) {
	b.got = func(t *driver.Table, _ []driver.Key, mask []int, rows []driver.Row) {
		at := slices.IndexFunc(t.Fields, func(c driver.Column) bool { return c.Name == "pending" })
		if !isGuard(t) || mask != nil || at < 0 {
			return
		}
		for i := range rows {
			if rows[i] = double.CopyRow(&rows[i]); len(rows[i].Fields) > at {
				rows[i].Fields[at] = driver.Value{}
			}
		}
	}
}

// slowGuards reads the guard of a tree as it was some thousandths of a second ago: so it is the same before and after
// what a reader reads.
func slowGuards(b *broken) {
	type seen struct {
		row driver.Row
		at  time.Time
	}
	last := map[driver.Key]seen{}
	var mu sync.Mutex
	b.got = func(t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) {
		mu.Lock()
		defer mu.Unlock()
		if !isGuard(t) {
			return
		}
		for i, key := range keys {
			switch old, ok := last[key]; {
			case ok && time.Since(old.at) < 3*time.Millisecond && mask != nil:
				rows[i].Rev = old.row.Rev
			case ok && time.Since(old.at) < 3*time.Millisecond:
				rows[i] = double.CopyRow(&old.row)
			case mask == nil && !rows[i].Rev.IsZero():
				last[key] = seen{double.CopyRow(&rows[i]), time.Now()}
			}
		}
	}
}

// Histories of trees find faults of several kinds, and say what they found.
func TestTreeHistoriesFind(t *testing.T) {
	const order, sound = "an order of the calls on a tree that explains their answers", "a tree with which nothing is wrong"
	for _, tt := range []struct {
		kind, what string
		broken     fault
		want       []string
	}{
		{"adjacency", "guards are not compared", losesGuards, []string{order, sound}},
		{"path", "guards are not compared", losesGuards, []string{order, sound}},
		{"nested sets", "guards are not compared", losesGuards, []string{order, sound}},
		{"path", "nobody sees what is pending", hidesPending, []string{order, sound}},
		{"ancestors", "nobody sees what is pending", hidesPending, []string{order, sound}},
		{"adjacency", "readers see an old guard", slowGuards, []string{order, sound}},
		{"path", "readers see an old guard", slowGuards, []string{order, sound}},
		{"ancestors", "readers see an old guard", slowGuards, []string{order, sound}},
	} {
		t.Run(tt.kind+": "+tt.what, func(t *testing.T) {
			t.Parallel()
			rules := rules()
			at := slices.IndexFunc(rules, func(r rule.Rule) bool { return r.ID() == "hierarchies/"+tt.kind+": histories" })
			m, ok := errors.AsType[*finding.Mismatch](tried(t, &rules[at], tt.broken))
			if !ok {
				t.Fatal("the rule does not notice it")
			}
			if !slices.Contains(tt.want, m.Want) {
				t.Errorf("found the want of %s: %s", m.Want, m.Got)
			}
			t.Logf("found by the want of %s", m.Want)
		})
	}
}
