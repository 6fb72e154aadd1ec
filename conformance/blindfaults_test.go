package conformance

import (
	"context"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/repo/driver"
)

// blindFaults are those of stores that are right in all but one respect: they do well what is
// asked of a few rows, in quiet, by one program.
func blindFaults() map[string]fault {
	all := map[string]fault{}
	for _, m := range []map[string]fault{
		grouped("keys and order", map[string]fault{
			"byte order marks":         keyFault(withoutMarks),
			"goroutines of left loops": readsAhead,
			"panics in loops":          keepsSlots,
			"later pages":              pager{size: 500, span: func(_ *broken, s *driver.Span) { s.To = "" }}.fault,
			"gathered":                 func(b *broken) { b.gather = func(n int, _ *int) bool { return n%512 != 0 } },
			"several ranges":           func(b *broken) { b.ranges = func(n int, _ *int) bool { return n%128 != 0 } },
			"rows that go":             pager{size: 100, span: skipsAfterGone}.fault,
		}),
		grouped("records and fields", map[string]fault{
			"long lists":        valueFault(countedIn16Bits),
			"pages of the dead": emptyPageIsTheEnd,
			"sweep":             func(b *broken) { b.swept = func(op *driver.Op) { op.If = driver.Any } },
			"retention":         forgetsTheRevived,
		}),
		grouped("conditions", map[string]fault{
			"write skew":      checksOutside,
			"readers at once": takesBack,
			"megabytes":       inTwoBySize,
		}),
		grouped("catalog and schema", map[string]fault{
			"drop of several":        dropsFirst,
			"names that begin alike": dropsAlike,
		}),
		grouped("outcomes", map[string]fault{
			"ring of the dead":           anewAfterDeath,
			"ring of the caller":         believesRing,
			"tokens alike":               halfTokens,
			"cut commits":                inBatches,
			"short deadlines":            lateTimeouts,
			"short deadlines of records": lateTimeouts,
		}),
		grouped("walk and scan", map[string]fault{
			"last mark":             nothingAfter(beginsAnew),
			"marks of deleted rows": skipsAfterGoneMark,
		}),
		grouped("two handles", map[string]fault{
			"commits":          lockOfHandle,
			"unique values":    lockOfHandle,
			"read after write": cacheOfHandle,
			"tables":           knowsAtOpen,
			"histories":        lockOfHandle,
			"close":            func(b *broken) { b.close = b.Store.Close },
		}),
	} {
		maps.Copy(all, m)
	}
	return all
}

const byteOrderMark = "\ufeff"

// withoutMark takes the mark at the beginning of a longer text for none of it.
func withoutMark(s string) string {
	if rest := strings.TrimPrefix(s, byteOrderMark); rest != "" {
		return rest
	}
	return s
}

// withoutMarks does it to each part of a key.
func withoutMarks(s string) string {
	parts := strings.SplitAfter(s, "#")
	for i := range parts {
		if parts[i] != byteOrderMark+"#" {
			parts[i] = strings.TrimPrefix(parts[i], byteOrderMark)
		}
	}
	return strings.Join(parts, "")
}

// countedIn16Bits keeps as many elements as 16 bits say that there are.
func countedIn16Bits(v driver.Value) driver.Value {
	switch n := len(v.List()); v.Kind() {
	case driver.List:
		return driver.ListValue(v.List()[:n&0xffff])
	case driver.Map:
		return driver.MapValue(v.List()[:n/2&0xffff*2])
	}
	return v
}

// emptyPageIsTheEnd reads pages of 500 rows, leaves the dead ones out, and takes a page of
// which nothing is left for the end.
func emptyPageIsTheEnd(b *broken) {
	ranged := func(ctx context.Context, s driver.Span) ([]driver.Row, error) {
		rows, err := b.withDead(ctx, s)
		var live []driver.Row
		for page := range slices.Chunk(rows, 500) {
			before := len(live)
			for i := range page {
				if !page[i].Dead {
					live = append(live, page[i])
				}
			}
			if len(live) == before {
				break
			}
		}
		if s.Limit > 0 {
			live = live[:min(s.Limit, len(live))]
		}
		return live, err
	}
	b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
		if s.Table.Class != driver.Records {
			return b.Store.Range(ctx, s)
		}
		return func(yield func(*driver.Row, error) bool) {
			rows, err := ranged(ctx, s)
			for i := range rows {
				if err = b.Store.Get(ctx, s.Table, nil, nil, nil); err != nil {
					break // the context has ended, say
				}
				if !yield(&rows[i], nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	}
	b.count = func(ctx context.Context, s driver.Span) (int, error) {
		if s.Table.Class != driver.Records {
			return b.Store.Count(ctx, s)
		}
		rows, err := ranged(ctx, s)
		return len(rows), err
	}
}

// withDead returns the rows of a span without its limit, the dead ones too.
func (b *broken) withDead(ctx context.Context, s driver.Span) ([]driver.Row, error) {
	var keys []driver.Key
	for c, err := range b.Store.Walk(ctx, s.Table, "") {
		if err != nil {
			return nil, err
		}
		for i := range c.Rows {
			if k := c.Rows[i].Key; k.Partition == s.Key.Partition && s.From <= k.Sort && (s.To == "" || k.Sort < s.To) {
				keys = append(keys, k)
			}
		}
	}
	slices.SortFunc(keys, func(x, y driver.Key) int { return strings.Compare(x.Sort, y.Sort) })
	if s.Reverse {
		slices.Reverse(keys)
	}
	rows := make([]driver.Row, len(keys))
	err := b.Store.Get(ctx, s.Table, keys, s.Mask, rows)
	return slices.DeleteFunc(rows, func(r driver.Row) bool { return r.Rev.IsZero() }), err
}

// believesChecks acknowledges a commit that writes nothing.
func believesChecks(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		if !slices.ContainsFunc(ops, func(op driver.Op) bool { return op.Do != driver.Check }) {
			return nil, nil
		}
		return b.Store.Commit(ctx, token, ops)
	}
}

// checksOutside looks at checks first, and does the other ops as one commit.
func checksOutside(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		var rest []driver.Op
		var at []int
		for i := range ops {
			if ops[i].Do != driver.Check || len(ops) == 1 {
				rest, at = append(rest, ops[i]), append(at, i)
				continue
			}
			refusal, err := b.Store.Commit(ctx, token, ops[i:i+1])
			if refusal != nil {
				refusal.Op = i
			}
			if refusal != nil || err != nil {
				return refusal, err
			}
		}
		if len(rest) < len(ops) {
			time.Sleep(rand.N(300 * time.Microsecond))
		}
		refusal, err := b.Store.Commit(ctx, token, rest)
		if refusal != nil {
			refusal.Op = at[refusal.Op]
		}
		return refusal, err
	}
}

// dropsFirst drops the first of several tables only.
func dropsFirst(b *broken) {
	b.drop = func(ctx context.Context, tables []*driver.Table) error {
		return b.Store.Drop(ctx, tables[:min(1, len(tables))])
	}
}

// dropsAlike drops every table whose name begins with the name of the one to drop, and an
// underscore.
func dropsAlike(b *broken) {
	var mu sync.Mutex
	known := map[string]*driver.Table{}
	define := b.define
	b.define = func(ctx context.Context, tables []*driver.Table) error {
		mu.Lock()
		defer mu.Unlock()
		for _, t := range tables {
			known[t.Name] = t
		}
		if define != nil {
			return define(ctx, tables)
		}
		return b.Store.Define(ctx, tables)
	}
	b.drop = func(ctx context.Context, tables []*driver.Table) error {
		mu.Lock()
		defer mu.Unlock()
		all := slices.Clone(tables)
		for _, t := range tables {
			for name, other := range known {
				if strings.HasPrefix(name, t.Name+"_") {
					all = append(all, other)
				}
			}
		}
		return b.Store.Drop(ctx, all)
	}
}

// forgetsTheRevived removes a row when its Retention is over since it died, whatever came of it.
func forgetsTheRevived(b *broken) {
	var mu sync.Mutex
	died := map[driver.Key]time.Time{}
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		mu.Lock()
		defer mu.Unlock()
		for i := range ops {
			if ops[i].Row.Dead && ops[i].Table.Retention > 0 {
				died[ops[i].Row.Key] = time.Now()
			}
		}
		return b.Store.Commit(ctx, token, ops)
	}
	b.got = func(t *driver.Table, keys []driver.Key, _ []int, rows []driver.Row) {
		mu.Lock()
		defer mu.Unlock()
		for i := range rows {
			if at, ok := died[keys[i]]; ok && time.Since(at) > t.Retention {
				rows[i].Reset()
			}
		}
	}
}

// anewAfterDeath removes a dead row that is written over, and with it the tokens from before.
func anewAfterDeath(b *broken) {
	var mu sync.Mutex
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		mu.Lock()
		defer mu.Unlock()
		if old := b.stored(&ops[0]); slices.Contains(old.Ring, token) {
			return b.Store.Commit(ctx, token, ops)
		}
		var removals []driver.Op
		anew := double.CopyOps(ops)
		for i := range anew {
			old := b.stored(&anew[i])
			fits := anew[i].If == driver.Any || anew[i].If == driver.AtRev && anew[i].Rev == old.Rev
			if old.Dead && anew[i].Do == driver.Put && fits {
				removals = append(removals, driver.Op{Do: driver.Delete, Table: anew[i].Table, Row: driver.Row{Key: old.Key}})
				anew[i].If = driver.Absent
			}
		}
		for i := range removals {
			if _, err := b.Store.Commit(ctx, driver.NewToken(), removals[i:i+1]); err != nil {
				return nil, err
			}
		}
		return b.Store.Commit(ctx, token, anew)
	}
}
