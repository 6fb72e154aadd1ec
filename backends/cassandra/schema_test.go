package cassandra_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// note returns a table of notes that declares some fields.
func note(fields ...driver.Column) *driver.Table {
	return &driver.Table{Name: "notes", Partition: []driver.Column{{Name: "id", Kind: driver.String}}, Ring: 4, Fields: fields}
}

// Many programs that make the same tables at once agree, also on which of two kinds a
// field has: one of those that differ is refused.
func TestDefineAtOnce(t *testing.T) {
	t.Parallel()
	_, url, _ := ownKeyspace(t)
	a := driver.Column{Name: "a", Kind: driver.String}
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		s, err := cassandra.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		wg.Go(func() {
			b := driver.Column{Name: "b", Kind: []driver.Kind{driver.Int, driver.Time}[i%2]}
			ts := newTables()
			errs[i] = errors.Join(s.Define(t.Context(), ts.all()), s.Get(t.Context(), ts.posts, []driver.Key{{Partition: "ann#", Sort: "1#"}}, nil, make([]driver.Row, 1)), s.Define(t.Context(), []*driver.Table{note(a)}), s.Define(t.Context(), []*driver.Table{note(a, b)}))
		})
	}
	wg.Wait()
	refused := 0
	for i, err := range errs {
		if errors.Is(err, driver.ErrSchema) && strings.Contains(err.Error(), "field b of table notes") && (errs[1-i%2] == nil) {
			refused++
		} else if err != nil {
			t.Errorf("program %d: %v", i, err)
		}
	}
	if refused != len(errs)/2 {
		t.Errorf("%d of %d programs were refused, want those of one kind", refused, len(errs))
	}
}

// A program that starts once more defines its tables together: none waits for another. One that
// adds a field waits for all.
func TestDefineTogether(t *testing.T) {
	t.Parallel()
	_, url, _ := ownKeyspace(t)
	_, ts := open(t, url)
	s, err := cassandra.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Define(t.Context(), ts.all()); err != nil {
		t.Fatal(err)
	}
	held := &holding{Context: t.Context(), begun: make(chan struct{}), release: make(chan struct{})}
	attached := make(chan error)
	go func() { attached <- s.Attach(held, ts.all()) }()
	<-held.begun
	if err := s.Define(t.Context(), ts.all()); err != nil {
		t.Error(err)
	}
	more := newTables()
	more.posts.Fields = append(more.posts.Fields, driver.Column{Name: "added", Kind: driver.Int})
	added := make(chan error)
	go func() { added <- s.Define(t.Context(), more.all()) }()
	select {
	case err := <-added:
		t.Fatalf("a field is added while others define: %v", err)
	case <-time.After(time.Second):
	}
	close(held.release)
	if err := errors.Join(<-attached, <-added); err != nil {
		t.Error(err)
	}
}

// A holding context stops a call in the middle, where that looks who counts what it sends.
type holding struct {
	context.Context
	once           sync.Once
	begun, release chan struct{}
}

func (h *holding) Value(key any) any {
	h.once.Do(func() {
		close(h.begun)
		<-h.release
	})
	return h.Context.Value(key)
}

// A program that does not know a field which another has declared since returns it among
// the undeclared ones, keeps it through patches, and removes it when it writes a row anew.
func TestFieldsOfNewerPrograms(t *testing.T) {
	t.Parallel()
	_, url, session := ownKeyspace(t)
	a, b := driver.Column{Name: "a", Kind: driver.String}, driver.Column{Name: "b", Kind: driver.Int}
	older, newer := note(a), note(a, b)
	s, err := cassandra.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Define(t.Context(), []*driver.Table{older}); err != nil {
		t.Fatal(err)
	}
	key := func(id string) driver.Key { return driver.Key{Partition: id + "#"} }
	extra := []driver.Pair{{Name: "b", Value: driver.IntValue(3)}}
	backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Put, Table: older, If: driver.Absent, Row: driver.Row{Key: key("early"), Extra: extra}}})
	if err := s.Define(t.Context(), []*driver.Table{newer}); err != nil {
		t.Fatal(err)
	}
	if row := get(t, s, newer, key("early")); !row.Fields[1].Equal(extra[0].Value) || len(row.Extra) > 0 {
		t.Errorf("a field from before it was declared: %+v", row)
	}
	add := driver.Op{Do: driver.Patch, Table: newer, If: driver.Present, Row: driver.Row{Key: key("early")}, Edits: []driver.Edit{{Do: driver.Add, Field: 1, Value: driver.IntValue(4)}}}
	backendtest.MustCommit(t, s, []driver.Op{add})
	var column int
	if err := session.Query(`SELECT b FROM notes WHERE id = 'early'`).ScanContext(t.Context(), &column); column != 7 || err != nil {
		t.Errorf("after an addition the column is %d, %v; want 7", column, err)
	}
	add.Edits[0] = driver.Edit{Do: driver.Unset, Field: 1}
	backendtest.MustCommit(t, s, []driver.Op{add})
	if row := get(t, s, newer, key("early")); !row.Fields[1].IsNone() {
		t.Errorf("a field that was removed is there: %+v", row)
	}
	for i, masked := range []bool{false, true} {
		k := key(fmt.Sprint("late", i))
		backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Put, Table: newer, If: driver.Absent, Row: driver.Row{Key: k, Fields: []driver.Value{text("x"), driver.IntValue(5)}}}})
		backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Patch, Table: older, If: driver.Present, Row: driver.Row{Key: k}, Edits: []driver.Edit{{Field: 0, Value: text("y")}}}})
		row := get(t, s, older, k)
		if len(row.Extra) != 1 || row.Extra[0].Name != "b" || row.Extra[0].Value.Int() != 5 || row.Fields[0].Str() != "y" {
			t.Errorf("a newer program's field: %+v", row)
		}
		if masked { // as whoever needs some fields only
			var rows [1]driver.Row
			if err := s.Get(t.Context(), older, []driver.Key{k}, []int{0}, rows[:]); err != nil {
				t.Fatal(err)
			}
			row = rows[0]
		}
		anew := driver.Row{Key: k, Ring: row.Ring, Hint: row.Hint, Fields: []driver.Value{text("z")}}
		backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Put, Table: older, If: driver.AtRev, Rev: row.Rev, Row: anew}})
		if row := get(t, s, newer, k); row.Fields[0].Str() != "z" || !row.Fields[1].IsNone() {
			t.Errorf("a row that an older program wrote anew, after a masked read: %v: %+v", masked, row)
		}
	}
}

// What a program takes away from a field that an older one wrote before it was declared stays away,
// for either.
func TestFieldsTakenAwayByNewerPrograms(t *testing.T) {
	t.Parallel()
	_, url, _ := ownKeyspace(t)
	a, b := driver.Column{Name: "a", Kind: driver.String}, driver.Column{Name: "b", Kind: driver.Int}
	older, newer := note(a), note(a, b)
	open := func(table *driver.Table) *cassandra.Store {
		s, err := cassandra.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if err := s.Define(t.Context(), []*driver.Table{table}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	set, unset := driver.Edit{Field: 1, Value: driver.IntValue(9)}, driver.Edit{Do: driver.Unset, Field: 1}
	ways := map[string]func(row driver.Row) []driver.Op{
		"unset": func(driver.Row) []driver.Op {
			return []driver.Op{{Do: driver.Patch, If: driver.Present, Edits: []driver.Edit{unset}}}
		},
		"none": func(row driver.Row) []driver.Op {
			return []driver.Op{{Do: driver.Patch, If: driver.AtRev, Rev: row.Rev, Edits: []driver.Edit{{Field: 1}}}}
		},
		"unset at a revision": func(row driver.Row) []driver.Op {
			return []driver.Op{{Do: driver.Patch, If: driver.AtRev, Rev: row.Rev, Row: driver.Row{Ring: row.Ring, Hint: row.Hint}, Edits: []driver.Edit{unset}}}
		},
		"set, then unset": func(driver.Row) []driver.Op {
			return []driver.Op{{Do: driver.Patch, If: driver.Present, Edits: []driver.Edit{set}}, {Do: driver.Patch, If: driver.Present, Edits: []driver.Edit{unset}}}
		},
		"put at a revision": func(row driver.Row) []driver.Op {
			return []driver.Op{{Do: driver.Put, If: driver.AtRev, Rev: row.Rev, Row: driver.Row{Ring: row.Ring, Hint: row.Hint, Fields: []driver.Value{text("x")}}}}
		},
		"deleted and made anew": func(row driver.Row) []driver.Op {
			return []driver.Op{{Do: driver.Fence, If: driver.AtRev, Rev: row.Rev}, {Do: driver.Put, If: driver.Any, Row: driver.Row{Fields: []driver.Value{text("x")}}}}
		},
	}
	old := open(older)
	for id := range ways {
		backendtest.MustCommit(t, old, []driver.Op{{Do: driver.Put, Table: older, If: driver.Absent, Row: driver.Row{Key: keyOf(t, newer, text(id)),
			Fields: []driver.Value{text("x")}, Extra: []driver.Pair{{Name: "b", Value: driver.IntValue(3)}}}}})
	}
	s := open(newer)
	for id, ops := range ways {
		row := get(t, s, newer, keyOf(t, newer, text(id)))
		if !row.Fields[1].Equal(driver.IntValue(3)) {
			t.Fatalf("%s: before: %+v", id, row)
		}
		for _, op := range ops(row) {
			op.Table, op.Row.Key = newer, keyOf(t, newer, text(id))
			backendtest.MustCommit(t, s, []driver.Op{op})
		}
		if row := get(t, s, newer, keyOf(t, newer, text(id))); !row.Fields[1].IsNone() || !row.Fields[0].Equal(text("x")) {
			t.Errorf("%s: %+v, want nothing in b", id, row)
		}
		if row := get(t, old, older, keyOf(t, newer, text(id))); len(row.Extra) > 0 {
			t.Errorf("%s, as the older program sees it: %+v", id, row)
		}
	}
}

// Dropping an index alone leaves records and other indexes as they are.
func TestDropOfAnIndex(t *testing.T) {
	t.Parallel()
	_, url, _ := ownKeyspace(t)
	s, ts := open(t, url)
	for i := range 300 {
		backendtest.MustCommit(t, s, ts.insert(t, []string{"ann", "bob"}[i%2], fmt.Sprintf("%03d", i)))
	}
	if err := s.Drop(t.Context(), []*driver.Table{{Name: "posts.by_at", Class: driver.Rows}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Attach(t.Context(), []*driver.Table{ts.byAt}); !errors.Is(err, driver.ErrSchema) {
		t.Errorf("attach of an index that was dropped: %v, want ErrSchema", err)
	}
	if err := s.Define(t.Context(), ts.all()); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[*driver.Table]int{ts.posts: 150, ts.slug: 150, ts.byAt: 0} {
		if n, err := s.Count(t.Context(), driver.Span{Table: table, Key: driver.Key{Partition: "ann#"}}); n != want || err != nil {
			t.Errorf("%d rows of %s, %v; want %d", n, table.Name, err, want)
		}
	}
	if err := s.Drop(t.Context(), []*driver.Table{{Name: "posts", Class: driver.Records}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Attach(t.Context(), []*driver.Table{ts.slug}); !errors.Is(err, driver.ErrSchema) {
		t.Errorf("attach of an index whose records were dropped: %v, want ErrSchema", err)
	}
}
