package spi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// A trailed is records that refer to others: their text is the Sort of another one, which makes a graph.
type trailed struct {
	home, up, down, beside *driver.Table // up and down are native indexes by Sort and by the text
	text                   map[string]string
}

// follower makes tables of records that refer to others, and another one that lies with them. The Follower is nil if
// the store is none, or one that follows nothing, as where it needs several servers.
func follower(ctx context.Context, e *env) (driver.Follower, trailed) {
	s, ok := e.Store.(driver.Follower)
	if !ok {
		return nil, trailed{}
	}
	g := trailTables(ctx, e)
	if err := s.Follow(ctx, g.trail(e, "", true, 0), nil, func(int, *driver.Row) bool { return true }); errors.Is(err, driver.ErrUnsupported) {
		return nil, g
	}
	return s, g
}

func trailTables(ctx context.Context, e *env) trailed {
	home, beside := e.ownTable(table.Fields()...), e.ownTable(table.Fields()...)
	beside.Home = home
	native := func(sort ...driver.Column) *driver.Table {
		return &driver.Table{Name: e.freshTable(), Class: driver.Rows, Native: true, Home: home, Partition: home.Partition, Sort: sort}
	}
	text := home.Fields[table.String]
	g := trailed{home: home, beside: beside, up: native(home.Sort[0]), down: native(text, home.Sort[0]), text: map[string]string{}}
	e.define(ctx, home)
	e.define(ctx, beside)
	e.define(ctx, g.up, g.down)
	return g
}

// trail is one from a record to those that refer to it, and so on, or to those to which it refers.
func (g *trailed) trail(e *env, start string, down bool, depth int) driver.Trail {
	t := driver.Trail{Index: g.up, Partition: e.at(g.home, "p", "").Partition, Start: str(start), From: g.home.Fields[table.String].Name, Depth: depth}
	if down {
		t.Index, t.From = g.down, g.home.Sort[0].Name
	}
	return t
}

// reached is what a trail should reach, by a search of its own.
func (g *trailed) reached(start string, down bool, depth int) []string {
	seen, level := []string{}, []string{start}
	for d := 1; len(level) > 0 && (depth == 0 || d <= depth); d++ {
		var next []string
		for id, text := range g.text {
			leads, to := text, id
			if down {
				leads, to = id, text
			}
			if slices.Contains(level, to) && !slices.Contains(seen, id) {
				seen, next = append(seen, id), append(next, leads)
			}
		}
		level = next
	}
	slices.Sort(seen)
	return seen
}

// followed follows trails through a graph with cycles, among records that are not part of it.
func followed(ctx context.Context, e *env) {
	s, g := follower(ctx, e)
	if s == nil {
		return
	}
	var ops []driver.Op
	for i := range 90 {
		id := fmt.Sprintf("%02d", i)
		g.text[id] = fmt.Sprintf("%02d", i*i%83/2)
		ops = append(ops, put(g.home, nativeRow(e, g.home, id, g.text[id], int64(i))))
	}
	for _, id := range []string{"#", "a#b", "é", "a#", ""} {
		g.text[id] = "a#b"
		ops = append(ops, put(g.home, nativeRow(e, g.home, id, "a#b", 1)))
	}
	lacks := driver.Row{Key: e.at(g.home, "p", "lacks")}
	ops = append(ops, put(g.home, lacks), put(g.home, driver.Row{Key: e.at(g.home, "p", "dead"), Dead: true, Expires: 1}))
	for _, p := range []string{"p", "o", "p\x00", ""} {
		r := nativeRow(e, g.home, "stranger", "07", 1)
		r.Key = e.at(g.home, p, "stranger")
		if p != "p" {
			ops = append(ops, put(g.home, r))
		}
		ops = append(ops, put(g.beside, row(e.at(g.beside, p, "x"), "beside "+p)))
	}
	for _, op := range ops {
		e.commit(ctx, op)
	}
	for _, start := range []string{"00", "07", "40", "89", "a#b", "", "nobody"} {
		for _, down := range []bool{true, false} {
			for _, depth := range []int{0, 1, 2, 3} {
				e.followed(ctx, s, &g, g.trail(e, start, down, depth), g.reached(start, down, depth))
			}
		}
	}
	e.followsNot(ctx, s, &g)
}

// followed compares what a trail reaches with what it should.
func (e *env) followed(ctx context.Context, s driver.Follower, g *trailed, trail driver.Trail, want []string) {
	var got []string
	var rows []driver.Row
	err := s.Follow(ctx, trail, []*driver.Table{g.beside}, func(i int, r *driver.Row) bool {
		vals, _, bad := driver.ParseParts(nil, r.Key.Sort, g.home.Sort)
		e.OK("parse of the key of a row", bad)
		switch id := vals[0].Str(); i {
		case 0:
			if have := e.get(ctx, g.home, r.Key); show(r) != show(&have) || r.Key.Partition != trail.Partition {
				rows = append(rows, have)
			}
			got = append(got, id)
		default:
			got = append(got, "beside "+textOf(r))
		}
		return len(got) <= table.MostRows
	})
	e.OK("follow", err)
	want = append(want, "beside beside p")
	slices.Sort(got)
	slices.Sort(want)
	what := fmt.Sprintf("from %s by %s, depth %d", rule.Brief(trail.Start.Str()), trail.Index.Sort[0].Name, trail.Depth)
	rule.Equal(e, "the records reached "+what, got, want)
	rule.Equal(e, "how many of them are not as they are read by their keys", len(rows), 0)
}

// followsNot has calls that end early, or cannot begin.
func (e *env) followsNot(ctx context.Context, s driver.Follower, g *trailed) {
	n, trail := 0, g.trail(e, "00", true, 0)
	yield := func(int, *driver.Row) bool { n++; return n < 3 }
	e.OK("follow of some", s.Follow(ctx, trail, []*driver.Table{g.beside}, yield))
	rule.Equal(e, "the rows of a trail that was left after 3", n, 3)
	over, cancel := context.WithCancel(ctx)
	cancel()
	err := s.Follow(over, trail, nil, yield)
	e.That(errors.Is(err, driver.ErrTimeout) && errors.Is(err, context.Canceled), "follow with a context that is over to be ErrTimeout", "%v", err)
	for what, change := range map[string]func(t *driver.Trail) []*driver.Table{
		"a start of another kind":   func(t *driver.Trail) []*driver.Table { t.Start = num(1); return nil },
		"no start":                  func(t *driver.Trail) []*driver.Table { t.Start = driver.Value{}; return nil },
		"a field that is not there": func(t *driver.Trail) []*driver.Table { t.From = "nobody"; return nil },
		"a field of another kind":   func(t *driver.Trail) []*driver.Table { t.From = g.home.Fields[table.Int].Name; return nil },
		"no index":                  func(t *driver.Trail) []*driver.Table { t.Index = g.home; return nil },
		"a table that is not known": func(*driver.Trail) []*driver.Table { return []*driver.Table{{Name: "nobody"}} },
		"an index beside":           func(*driver.Trail) []*driver.Table { return []*driver.Table{g.up} },
		"an index that is not known": func(t *driver.Trail) []*driver.Table {
			t.Index = &driver.Table{Name: "nobody", Native: true}
			return nil
		},
		"an index that is not a name": func(t *driver.Trail) []*driver.Table { t.Index = nil; return nil },
	} {
		bad := trail
		beside := change(&bad)
		e.Is("follow with "+what, s.Follow(ctx, bad, beside, yield), driver.ErrInvalid)
	}
	rule.Equal(e, "the rows after that", n, 3)
}

// followedAtOnce follows trails while commits change records at different depths, and the table beside.
func followedAtOnce(ctx context.Context, e *env) {
	const readers, readings = 2, 50
	s, g := follower(ctx, e)
	if s == nil || e.Facts.Scope < driver.ScopePartition { // there is nothing that belongs together
		return
	}
	for id, up := range map[string]string{"a": "root", "b": "root", "b1": "b", "b2": "b1"} {
		e.commit(ctx, put(g.home, nativeRow(e, g.home, id, up, 0)))
	}
	write := func(n int64) { // "x" goes from the one depth to the other
		up := []string{"a", "b2"}[n%2]
		e.commit(ctx, put(g.home, nativeRow(e, g.home, "x", up, n)), put(g.home, nativeRow(e, g.home, "y", "x", n)),
			put(g.beside, nativeRow(e, g.beside, "x", "", n)))
	}
	write(0)
	var left atomic.Int32
	left.Store(readers)
	e.Parallel(1+readers, func(i int) error {
		if i > 0 {
			defer left.Add(-1)
			for range readings {
				seen := map[string]int64{}
				e.OK("follow", s.Follow(ctx, g.trail(e, "root", true, 0), []*driver.Table{g.beside}, func(i int, r *driver.Row) bool {
					seen[fmt.Sprint(i, r.Key.Sort)] = field(r, table.Int).Int()
					return true
				}))
				rule.Equal(e, "the number of rows at one instant", len(seen), 7)
				x, y, beside := seen["0x#"], seen["0y#"], seen["1x#"]
				e.That(x == y && y == beside, fmt.Sprintf("what commit %d wrote, at one instant", x), "with that of %d and %d", y, beside)
				runtime.Gosched()
			}
			return nil
		}
		for n := int64(1); left.Load() > 0; n++ {
			write(n)
		}
		return nil
	})
}
