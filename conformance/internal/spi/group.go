package spi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// instant is the time at which records are grouped.
const instant = 1_000_000_000_000

// grouped groups records, of which some lack the fields or have expired.
func grouped(ctx context.Context, e *env) {
	s, ok := e.Store.(driver.Grouper)
	home, index, _, _ := nativeTables(ctx, e)
	whole := driver.Grouping{Span: driver.Span{Table: index, Key: driver.Key{Partition: "t#"}}}
	if !ok || errors.Is(s.Group(ctx, whole, func(*driver.Group) bool { return true }), driver.ErrUnsupported) {
		return // it groups nothing
	}
	var all []nativeEntry
	for i, text := range []string{"", "a", "a#", "a", "A", "b", "é", "a", "\U0010ffff", "ab"} {
		for j, n := range []int64{-3, 0, int64(i%2) + 5, 1 << 40, 0} {
			id := fmt.Sprintf("%02d.%d", i, j)
			e.commit(ctx, put(home, nativeRow(e, home, id, text, n)))
			all = append(all, nativeEntry{text, n, id})
		}
	}
	later, over := nativeRow(e, home, "later", "a", 7), nativeRow(e, home, "over", "a", 7)
	later.Expires, over.Expires = instant+1, instant
	lacks, elsewhere := nativeRow(e, home, "lacks", "a", 1), nativeRow(e, home, "elsewhere", "a", 1)
	lacks.Fields[table.Int], elsewhere.Fields[table.Bool] = driver.Value{}, driver.BoolValue(false)
	dead := driver.Row{Key: e.at(home, "p", "dead"), Dead: true, Expires: instant + 1}
	for _, r := range []driver.Row{later, over, lacks, elsewhere, dead} {
		e.commit(ctx, put(home, r))
	}
	all = append(all, nativeEntry{"a", 7, "later"})
	slices.SortFunc(all, func(a, b nativeEntry) int { return strings.Compare(entryText(e, index, a), entryText(e, index, b)) })
	a, b := &driver.Bound{Values: texts("a")}, &driver.Bound{Values: texts("b"), Over: true}
	within := &driver.Bound{Values: texts("a"), Over: true}
	for _, ends := range [][2]*driver.Bound{{nil, nil}, {a, within}, {a, b}, {within, nil}, {nil, a}, {{Values: []driver.Value{str("a"), num(5)}}, within}, {b, a}} {
		e.grouped(ctx, s, index, all, ends)
	}
	e.groupsNot(ctx, s, index)
	e.sumsTooGreat(ctx, s, home, index)
}

// grouped compares the groups of a span with those of its entries.
func (e *env) grouped(ctx context.Context, s driver.Grouper, t *driver.Table, all []nativeEntry, ends [2]*driver.Bound) {
	sp := driver.Span{Table: t, Key: driver.Key{Partition: "t#"}, Low: ends[0], High: ends[1]}
	sp.From, sp.To = boundText(e, t, sp.Low, ""), boundText(e, t, sp.High, "")
	for columns := range 3 {
		var want []string
		var last driver.Group
		for _, x := range all {
			if text := entryText(e, t, x); text < sp.From || sp.To != "" && text >= sp.To {
				continue
			}
			vals := []driver.Value{str(x.text), num(x.n)}[:columns]
			if last.Count == 0 || !slices.EqualFunc(vals, last.Values, driver.Value.Equal) {
				want, last = append(want, ""), driver.Group{Values: vals, Sums: []int64{0}}
			}
			last.Count, last.Sums[0] = last.Count+1, last.Sums[0]+x.n
			want[len(want)-1] = showGroup(&last)
		}
		for _, sp.Reverse = range []bool{false, true} {
			for _, sp.Limit = range []int{0, 2} {
				some := slices.Clone(want)
				if sp.Reverse {
					slices.Reverse(some)
				}
				if sp.Limit > 0 {
					some = some[:min(len(some), sp.Limit)]
				}
				g := driver.Grouping{Span: sp, Columns: columns, Sums: []string{t.Home.Fields[table.Int].Name}, Now: instant}
				what := fmt.Sprintf("the groups by %d columns from %q to %q, backwards %v, limit %d", columns, sp.From, sp.To, sp.Reverse, sp.Limit)
				rule.Equal(e, what, fmt.Sprint(e.groups(ctx, s, g)), fmt.Sprint(some))
			}
		}
	}
}

// groups returns what a store finds, for people.
func (e *env) groups(ctx context.Context, s driver.Grouper, g driver.Grouping) (list []string) {
	e.OK("group", s.Group(ctx, g, func(found *driver.Group) bool {
		list = append(list, showGroup(found))
		return len(list) <= table.MostRows
	}))
	return list
}

func showGroup(g *driver.Group) string { return fmt.Sprintf("%q: %d, %d", g.Values, g.Count, g.Sums) }

// groupsNot has calls that end early, or cannot begin.
func (e *env) groupsNot(ctx context.Context, s driver.Grouper, t *driver.Table) {
	n, good := 0, driver.Grouping{Span: driver.Span{Table: t, Key: driver.Key{Partition: "t#"}}, Columns: 1, Now: instant}
	yield := func(*driver.Group) bool { n++; return n < 3 }
	e.OK("group of some", s.Group(ctx, good, yield))
	rule.Equal(e, "the groups of a call that was left after 3", n, 3)
	over, cancel := context.WithCancel(ctx)
	cancel()
	err := s.Group(over, good, yield)
	e.That(errors.Is(err, driver.ErrTimeout) && errors.Is(err, context.Canceled), "group with a context that is over to be ErrTimeout", "%v", err)
	for what, change := range map[string]func(g *driver.Grouping){
		"too many columns":           func(g *driver.Grouping) { g.Columns = 3 },
		"less than no columns":       func(g *driver.Grouping) { g.Columns = -1 },
		"a mask":                     func(g *driver.Grouping) { g.Span.Mask = []int{} },
		"a sum of texts":             func(g *driver.Grouping) { g.Sums = []string{t.Home.Fields[table.String].Name} },
		"a sum of nothing":           func(g *driver.Grouping) { g.Sums = []string{"nobody"} },
		"no index":                   func(g *driver.Grouping) { g.Span.Table = t.Home },
		"an index that is not known": func(g *driver.Grouping) { g.Span.Table = &driver.Table{Name: "nobody", Native: true} },
		"an index that is not a name": func(g *driver.Grouping) {
			g.Span.Table = nil
		},
	} {
		bad := good
		change(&bad)
		e.Is("group with "+what, s.Group(ctx, bad, yield), driver.ErrInvalid)
	}
	rule.Equal(e, "the groups after that", n, 3)
}

// sumsTooGreat has a sum that an int64 does not hold, and one that it just holds.
func (e *env) sumsTooGreat(ctx context.Context, s driver.Grouper, home, t *driver.Table) {
	name := home.Fields[table.Int].Name
	for id, n := range map[string]int64{"m1": math.MaxInt64 - 5, "m2": 5} {
		e.commit(ctx, put(home, nativeRow(e, home, id, "most", n)))
	}
	most := driver.Bound{Values: texts("most")}
	over := most
	over.Over = true
	g := driver.Grouping{Span: driver.Span{Table: t, Key: driver.Key{Partition: "t#"}, Low: &most, High: &over}, Columns: 1, Sums: []string{name}, Now: instant}
	g.Span.From, g.Span.To = boundText(e, t, &most, ""), boundText(e, t, &over, "")
	rule.Equal(e, "the greatest sum", fmt.Sprint(e.groups(ctx, s, g)), fmt.Sprint([]string{showGroup(&driver.Group{Values: texts("most"), Count: 2, Sums: []int64{math.MaxInt64}})}))
	e.commit(ctx, put(home, nativeRow(e, home, "m3", "most", 1)))
	err := s.Group(ctx, g, func(found *driver.Group) bool {
		e.That(false, "no sum where an int64 does not hold it", "%s", showGroup(found))
		return true
	})
	e.Is("group with a sum that no int64 holds", err, driver.ErrUnsupported)
}
