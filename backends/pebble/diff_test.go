package pebble_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A pair does the same on the reference and on a store under test, and compares
// what they answer.
type pair struct {
	t      *testing.T
	want   driver.Store
	got    driver.Store
	reopen func(driver.Store) (driver.Store, error)
	tables []*driver.Table
	tokens []driver.Token
	hints  map[string]uint64 // what the last Get of the store under test put into Row.Hint, by table and key
	marks  map[string][2]string
}

// diffTables are two programs' views of one table, and two more tables.
func diffTables() []*driver.Table {
	str := func(name string) driver.Column { return driver.Column{Name: name, Kind: driver.String} }
	num := func(name string) driver.Column { return driver.Column{Name: name, Kind: driver.Int} }
	desc := str("s")
	desc.Desc = true
	return []*driver.Table{
		{Name: "a", Partition: []driver.Column{str("p")}, Sort: []driver.Column{str("s")}, Fields: []driver.Column{num("n"), str("t"), str("u")}},
		{Name: "a", Partition: []driver.Column{str("p")}, Sort: []driver.Column{str("s")}, Fields: []driver.Column{str("u"), str("x"), num("n")}},
		{Name: "b", Partition: []driver.Column{str("p"), num("q")}, Fields: []driver.Column{num("n")}, Ring: 2},
		{Name: "c", Class: driver.Rows, Partition: []driver.Column{str("p")}, Sort: []driver.Column{desc, str("r")}},
	}
}

func newPair(t *testing.T) (*pair, error) {
	files := vfs.NewMem()
	opts := &pebble.Options{FS: files}
	got, err := pebble.Open("/data", opts)
	if err != nil {
		return nil, err
	}
	p := &pair{t: t, want: memory.New(nil), got: got, tables: diffTables(), hints: map[string]uint64{}, marks: map[string][2]string{}}
	p.reopen = func(old driver.Store) (driver.Store, error) {
		if err := old.Close(); err != nil {
			return nil, err
		}
		return pebble.Open("/data", opts)
	}
	return p, p.define()
}

func (p *pair) define() error {
	return errors.Join(p.want.Define(p.t.Context(), p.tables), p.got.Define(p.t.Context(), p.tables))
}

func TestLikeTheReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, err := newPair(t)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { p.got.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"commit": p.commit,
			"again":  p.commit, // twice as often as the rest
			"get":    p.get,
			"range":  p.rangeOver,
			"walk":   p.walk,
			"drop":   p.drop,
			"reopen": p.restart,
		})
	})
}

// TestComparisonNoticesALostWrite is the control of the comparison.
func TestComparisonNoticesALostWrite(t *testing.T) {
	p, err := newPair(t)
	if err != nil {
		t.Fatal(err)
	}
	defer p.got.Close()
	k := driver.Key{Partition: "a#", Sort: "b#"}
	op := driver.Op{Do: driver.Put, Table: p.tables[0], Row: driver.Row{Key: k}}
	if _, err := p.want.Commit(t.Context(), driver.NewToken(), []driver.Op{op}); err != nil {
		t.Fatal(err)
	}
	if diff := p.compareRange(driver.Span{Table: p.tables[0], Key: k}); diff == "" {
		t.Error("a row that only the reference has went unnoticed by Range")
	}
	if diff := p.compareGet(p.tables[0], []driver.Key{k}, nil); diff == "" {
		t.Error("a row that only the reference has went unnoticed by Get")
	}
	if diff := p.compareWalk(p.tables[0], [2]string{}); diff == "" {
		t.Error("a row that only the reference has went unnoticed by Walk")
	}
}

var alike = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(driver.Row{}, "Hint")}

// trimmed drops absent fields at the end, which a store may leave out.
func trimmed(r driver.Row) driver.Row {
	for n := len(r.Fields); n > 0 && r.Fields[n-1].IsNone(); n-- {
		r.Fields = r.Fields[:n-1]
	}
	return r
}

func kept(r *driver.Row) driver.Row {
	out := *r
	out.Fields, out.Extra, out.Ring = slices.Clone(r.Fields), slices.Clone(r.Extra), slices.Clone(r.Ring)
	return trimmed(out)
}

func kind(err error) string {
	for _, k := range []error{driver.ErrInvalid, driver.ErrSchema, driver.ErrTimeout, driver.ErrClosed, driver.ErrUnsupported} {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	return fmt.Sprint(err)
}

func (p *pair) table(rt *rapid.T) *driver.Table {
	return p.tables[rapid.IntRange(0, len(p.tables)-1).Draw(rt, "table")]
}

func (p *pair) commit(rt *rapid.T) {
	var ops []driver.Op
	for range rapid.SampledFrom([]int{1, 1, 1, 2, 4}).Draw(rt, "ops") {
		ops = append(ops, p.op(rt))
	}
	token := p.token(rt, rapid.IntRange(0, 9).Draw(rt, "resend") > 0)
	want, err1 := p.want.Commit(p.t.Context(), token, ops)
	got, err2 := p.got.Commit(p.t.Context(), token, ops)
	if kind(err1) != kind(err2) {
		rt.Fatalf("commit: %v, the reference %v", err2, err1)
	}
	for _, r := range []*driver.Refusal{want, got} {
		if r != nil {
			r.Row = trimmed(r.Row)
		}
	}
	if diff := cmp.Diff(want, got, alike); diff != "" {
		rt.Fatalf("refusal: -reference +store\n%s", diff)
	}
	for i := range ops {
		if diff := p.compareGet(ops[i].Table, []driver.Key{ops[i].Row.Key}, nil); diff != "" {
			rt.Fatalf("after the commit: -reference +store\n%s", diff)
		}
	}
}

func (p *pair) get(rt *rapid.T) {
	t := p.table(rt)
	var keys []driver.Key
	for range rapid.IntRange(0, 3).Draw(rt, "keys") {
		keys = append(keys, p.key(rt, t))
	}
	if diff := p.compareGet(t, keys, drawMask(rt, t)); diff != "" {
		rt.Fatalf("get: -reference +store\n%s", diff)
	}
}

func (p *pair) compareGet(t *driver.Table, keys []driver.Key, mask []int) string {
	want, got := make([]driver.Row, len(keys)), make([]driver.Row, len(keys))
	err1 := p.want.Get(p.t.Context(), t, keys, mask, want)
	err2 := p.got.Get(p.t.Context(), t, keys, mask, got)
	if kind(err1) != kind(err2) {
		return fmt.Sprintf("error %v, the reference %v", err2, err1)
	}
	for i := range got {
		p.hints[t.Name+"/"+keys[i].Partition+keys[i].Sort] = got[i].Hint
		want[i], got[i] = trimmed(want[i]), trimmed(got[i])
	}
	return cmp.Diff(want, got, alike)
}

func (p *pair) rangeOver(rt *rapid.T) {
	t := p.table(rt)
	bound := rapid.StringMatching(`[a%~0-9#]{0,3}`)
	span := driver.Span{
		Table:   t,
		Key:     p.key(rt, t),
		From:    bound.Draw(rt, "from"),
		To:      bound.Draw(rt, "to"),
		Reverse: rapid.Bool().Draw(rt, "reverse"),
		Limit:   rapid.IntRange(0, 3).Draw(rt, "limit"),
		Mask:    drawMask(rt, t),
	}
	if diff := p.compareRange(span); diff != "" {
		rt.Fatalf("range over %+v: -reference +store\n%s", span, diff)
	}
}

func (p *pair) compareRange(span driver.Span) string {
	rows := func(s driver.Store) (out []driver.Row, end error) {
		for r, err := range s.Range(p.t.Context(), span) {
			if err != nil {
				return out, err
			}
			out = append(out, kept(r))
		}
		return out, nil
	}
	want, err1 := rows(p.want)
	got, err2 := rows(p.got)
	if kind(err1) != kind(err2) {
		return fmt.Sprintf("error %v, the reference %v", err2, err1)
	}
	n1, err1 := p.want.(driver.Counter).Count(p.t.Context(), span)
	n2, err2 := p.got.(driver.Counter).Count(p.t.Context(), span)
	if kind(err1) != kind(err2) || n1 != n2 {
		return fmt.Sprintf("count %d, %v, the reference %d, %v", n2, err2, n1, err1)
	}
	return cmp.Diff(want, got, alike)
}

func (p *pair) walk(rt *rapid.T) {
	t := p.table(rt)
	if diff := p.compareWalk(t, [2]string{}); diff != "" {
		rt.Fatalf("walk: -reference +store\n%s", diff)
	}
	marks := [2]string{frame.Mark(t.Name, rapid.StringMatching(`[a#b~0-9]{0,5}`).Draw(rt, "mark"))}
	marks[1] = marks[0] // both stores happen to have the same
	if diff := p.compareWalk(t, marks); diff != "" {
		rt.Fatalf("walk from %q: -reference +store\n%s", marks[0], diff)
	}
}

func (p *pair) compareWalk(t *driver.Table, marks [2]string) string {
	rows := func(s driver.Store, mark string) (out []driver.Row, end error) {
		for chunk, err := range s.Walk(p.t.Context(), t, mark) {
			if err != nil {
				return out, err
			}
			for i := range chunk.Rows {
				out = append(out, kept(&chunk.Rows[i]))
			}
		}
		return out, nil
	}
	want, err1 := rows(p.want, marks[0])
	got, err2 := rows(p.got, marks[1])
	if kind(err1) != kind(err2) {
		return fmt.Sprintf("error %v, the reference %v", err2, err1)
	}
	return cmp.Diff(want, got, alike)
}

func (p *pair) drop(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "really") > 0 {
		return
	}
	tables := []*driver.Table{p.table(rt)}
	if err := errors.Join(p.want.Drop(p.t.Context(), tables), p.got.Drop(p.t.Context(), tables)); err != nil {
		rt.Fatal(err)
	}
	if err := p.define(); err != nil {
		rt.Fatal(err)
	}
}

func (p *pair) restart(rt *rapid.T) {
	got, err := p.reopen(p.got)
	if err != nil {
		rt.Fatal(err)
	}
	p.got = got // hints of the closed store stay in use: they must be worth nothing
	if err := p.got.Attach(p.t.Context(), p.tables); err != nil {
		rt.Fatal(err)
	}
}
