package conformance

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

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
		if !strings.HasSuffix(t.Name, "_trees") {
			return
		}
		for i, key := range keys {
			if old, ok := first[key]; ok {
				rows[i] = old
			} else if !rows[i].Rev.IsZero() {
				first[key] = rows[i]
			}
		}
	}
}
