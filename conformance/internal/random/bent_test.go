package random

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A bent side does other operations than it is asked for.
type bent struct {
	side
	bend func(op *operation)
}

func (b bent) do(ctx context.Context, op operation) string {
	op.list, op.more, op.edits = slices.Clone(op.list), slices.Clone(op.more), slices.Clone(op.edits)
	b.bend(&op)
	return b.side.do(ctx, op)
}

// eachEdit returns what bends edits that do something to a field.
func eachEdit(do, field string, bend func(e *edit)) func(*operation) {
	return func(op *operation) {
		for i := range op.edits {
			if e := &op.edits[i]; e.do == do && e.field == field {
				bend(e)
			}
		}
	}
}

// eachQuery returns what bends queries, as many as are asked at once.
func eachQuery(bend func(q *query)) func(*operation) {
	return func(op *operation) {
		bend(&op.q)
		for i := range op.more {
			bend(&op.more[i])
		}
	}
}

// many returns what bends writes of many records by a verb.
func many(verb string) func(*operation) {
	return func(op *operation) {
		if op.verb == verb {
			op.list[len(op.list)-1] = op.list[0]
		}
	}
}

func testedPair(t *testing.T, s driver.Store) *pair {
	t.Helper()
	p, err := comparison{tested.Store{Store: s, Facts: s.Facts(), FreshName: func() string { return "tested" }}}.pair(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A store that does something else than it was asked for is found: with each kind of query and of write.
func TestBentOperationsAreFound(t *testing.T) {
	for name, bend := range map[string]func(*operation){
		"nothing":   func(*operation) {},
		"no filter": eachQuery(func(q *query) { q.filter = nil }),
		"no offset": eachQuery(func(q *query) { q.offset = 0 }),
		"no condition on a part": eachQuery(func(q *query) {
			q.equal = slices.DeleteFunc(slices.Clone(q.equal), func(c [2]any) bool { return c[0] == "place.city" })
		}),
		"a query for another one":  func(op *operation) { copy(op.more, []query{op.q}) },
		"the second for the first": func(op *operation) { op.q.offset += strings.Count(op.verb, "first") },
		"one of many not put":      many("put all"),
		"one of many not deleted":  many("delete all"),
		"one of many not patched":  many("patch all"),
		"what is there is not put": func(op *operation) { op.verb = strings.Replace(op.verb, "put all", "insert all", 1) },
		"pushed in front":          eachEdit("push", "tags", func(e *edit) { e.do = "push front" }),
		"pushed behind":            eachEdit("push front", "tags", func(e *edit) { e.do = "push" }),
		"no cap behind":            eachEdit("push", "tags", func(e *edit) { e.keep = 0 }),
		"no cap in front":          eachEdit("push front", "tags", func(e *edit) { e.keep = 0 }),
		"not pulled":               eachEdit("pull", "tags", func(e *edit) { e.value = []any{"other"} }),
		"another part set":         eachEdit("set", "place.city", func(e *edit) { e.value = "Bern" }),
		"a part kept":              eachEdit("unset", "place.city", func(e *edit) { e.field = "h" }),
		"no element set":           eachEdit("set", "tags.0", func(e *edit) { *e = edit{field: "tags", do: "push", value: []any{}} }),
		"fractions cut":            eachEdit("add", "place.rate", func(e *edit) { e.value = math.Trunc(e.value.(float64)) }),
		"undeclared fractions lost": eachEdit("add", "f", func(e *edit) {
			if e.value == 0.5 {
				e.value = 0.0
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			p, found := testedPair(t, memory.New(nil)), false
			p.tested = bent{p.tested, bend}
			for i := 0; i < 40 && !found; i++ {
				_, diff, err := p.play(t.Context(), episode(9, i))
				if err = errors.Join(err, p.clear(t.Context())); err != nil {
					t.Fatal(err)
				}
				found = diff != nil
			}
			if found == (name == "nothing") {
				t.Errorf("found: %v", found)
			}
		})
	}
}

// A faulty store loses rows of what it finds, or what is written.
type faulty struct {
	driver.Store
	rows, edits, puts bool
}

func (f *faulty) Range(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		n := 0
		for row, err := range f.Store.Range(ctx, s) {
			if n++; f.rows && n == 2 && s.Table.Name[0] != '_' {
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (f *faulty) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	for i := range ops {
		switch op := &ops[i]; {
		case f.edits && len(op.Edits) > 0 && op.Edits[0].Do == driver.Set && op.Edits[0].Value.Kind() == driver.List:
			op.Edits = slices.Clone(op.Edits)
			op.Edits[0].Value = driver.ListValue(op.Edits[0].Value.List()[1:])
		case f.puts && op.Table.Name == referenceName && op.Do == driver.Put && len(op.Row.Extra) > 0:
			op.Row.Extra = nil
		}
	}
	return f.Store.Commit(ctx, token, ops)
}

// What both stores do wrong alike is found by the look at all records of the reference.
func TestLooks(t *testing.T) {
	for verb, s := range map[string]*faulty{
		"": {}, "find": {rows: true}, "find many": {rows: true}, "patch": {edits: true}, "patch all": {edits: true}, "put all": {puts: true},
	} {
		p := testedPair(t, memory.New(nil))
		s.Store = memory.New(nil)
		var err error
		if p.reference, err = openSide(t.Context(), repo.NewStore(s, &repo.Options{Now: p.clock.Now}), referenceName, s.Facts(), false); err != nil {
			t.Fatal(err)
		}
		found := ""
		for i := 0; i < 60 && found == ""; i++ {
			for _, op := range episode(4, i) {
				if op.verb == "pass" || op.verb != verb && verb != "" && (strings.HasPrefix(op.verb, "find") || op.verb == "best" || op.verb == "groups") {
					continue
				}
				if text := p.reference.do(t.Context(), op); strings.Contains(text, ", but ") && (op.verb == verb || verb == "") {
					found = text
				}
			}
		}
		if (found == "") != (verb == "") {
			t.Errorf("%q: found %q", verb, found)
		}
	}
}
