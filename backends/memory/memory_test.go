package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
)

var (
	_ driver.Store   = (*memory.Store)(nil)
	_ driver.Counter = (*memory.Store)(nil)
	_ driver.Sizer   = (*memory.Store)(nil)
)

func posts() *driver.Table {
	return &driver.Table{
		Name:      "posts",
		Partition: []driver.Column{{Name: "author", Kind: driver.String}},
		Sort:      []driver.Column{{Name: "id", Kind: driver.Int}},
		Fields:    []driver.Column{{Name: "title", Kind: driver.String}, {Name: "views", Kind: driver.Int}},
		Ring:      3,
	}
}

// open returns a store that knows the tables.
func open(t *testing.T, opts *memory.Options, tables ...*driver.Table) *memory.Store {
	t.Helper()
	s := memory.New(opts)
	t.Cleanup(func() { s.Close() })
	if err := s.Define(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	return s
}

func key(t *testing.T, table *driver.Table, author string, id int64) driver.Key {
	t.Helper()
	p, err := driver.AppendParts(nil, table.Partition, []driver.Value{driver.StringValue(author)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := driver.AppendParts(nil, table.Sort, []driver.Value{driver.IntValue(id)})
	if err != nil {
		t.Fatal(err)
	}
	return driver.Key{Partition: string(p), Sort: string(s)}
}

func put(table *driver.Table, k driver.Key, title string, views int64) driver.Op {
	fields := []driver.Value{driver.StringValue(title), driver.IntValue(views)}
	return driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: k, Fields: fields}}
}

func commit(t *testing.T, s driver.Store, ops ...driver.Op) driver.Token {
	t.Helper()
	token := driver.NewToken()
	refusal, err := s.Commit(t.Context(), token, ops)
	if err != nil || refusal != nil {
		t.Fatalf("Commit = %v, %v", refusal, err)
	}
	return token
}

func get(t *testing.T, s driver.Store, table *driver.Table, k driver.Key) driver.Row {
	t.Helper()
	rows := make([]driver.Row, 1)
	if err := s.Get(t.Context(), table, []driver.Key{k}, nil, rows); err != nil {
		t.Fatal(err)
	}
	return rows[0]
}

// inState returns the ops after which a row is missing, there, or dead.
func inState(state string, table *driver.Table, k driver.Key) []driver.Op {
	op := put(table, k, "old", 1)
	switch state {
	case "missing":
		return nil
	case "dead":
		op.Row.Dead = true
	}
	return []driver.Op{op}
}

func TestConditions(t *testing.T) {
	token := driver.NewToken()
	tests := []struct {
		state string
		cond  driver.Cond
		rev   driver.Token
		want  bool
	}{
		{"missing", driver.Any, driver.Token{}, true},
		{"missing", driver.Absent, driver.Token{}, true},
		{"missing", driver.Present, driver.Token{}, false},
		{"missing", driver.AtRev, token, false},
		{"missing", driver.AtRev, driver.Token{}, false},
		{"there", driver.Any, driver.Token{}, true},
		{"there", driver.Absent, driver.Token{}, false},
		{"there", driver.Present, driver.Token{}, true},
		{"there", driver.AtRev, token, true},
		{"there", driver.AtRev, driver.NewToken(), false},
		{"dead", driver.Any, driver.Token{}, true},
		{"dead", driver.Absent, driver.Token{}, false},
		{"dead", driver.Present, driver.Token{}, false},
		{"dead", driver.AtRev, token, true},
	}
	for _, verb := range []driver.Verb{driver.Check, driver.Put, driver.Delete, driver.Fence} {
		for _, tt := range tests {
			t.Run(fmt.Sprint(verb, " ", tt.state, " if ", tt.cond, " ", tt.want), func(t *testing.T) {
				table := posts()
				s := open(t, nil, table)
				k := key(t, table, "ann", 1)
				if _, err := s.Commit(t.Context(), token, inState(tt.state, table, k)); err != nil {
					t.Fatal(err)
				}
				before := get(t, s, table, k)
				op := put(table, k, "new", 2)
				op.Do, op.If, op.Rev = verb, tt.cond, tt.rev
				if op.Validate() != nil {
					return // a fence has but two conditions
				}
				refusal, err := s.Commit(t.Context(), driver.NewToken(), []driver.Op{op})
				if err != nil || (refusal == nil) != tt.want {
					t.Fatalf("Commit = %v, %v; want done: %v", refusal, err, tt.want)
				}
				if after := get(t, s, table, k); refusal != nil && !cmp.Equal(before, after) {
					t.Errorf("a refused commit changed the row: %v", cmp.Diff(before, after))
				}
				if refusal != nil && !cmp.Equal(refusal.Row, before) {
					t.Errorf("the refusal has another row than there is: %v", cmp.Diff(before, refusal.Row))
				}
			})
		}
	}
}

func TestCommitIsAllOrNothing(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	commit(t, s, put(table, key(t, table, "ann", 2), "taken", 0))
	ops := []driver.Op{
		put(table, key(t, table, "ann", 1), "first", 0),
		put(table, key(t, table, "ann", 2), "second", 0),
		put(table, key(t, table, "ann", 3), "third", 0),
	}
	for i := range ops {
		ops[i].If = driver.Absent
	}
	refusal, err := s.Commit(t.Context(), driver.NewToken(), ops)
	if err != nil || refusal == nil || refusal.Op != 1 {
		t.Fatalf("Commit = %+v, %v; want a refusal of op 1", refusal, err)
	}
	for _, id := range []int64{1, 3} {
		if r := get(t, s, table, key(t, table, "ann", id)); !r.Rev.IsZero() {
			t.Errorf("row %d is there after a refusal", id)
		}
	}
	ops[1].If = driver.Any // the control: without the condition all three are done
	commit(t, s, ops...)
	for _, id := range []int64{1, 2, 3} {
		if r := get(t, s, table, key(t, table, "ann", id)); r.Rev.IsZero() {
			t.Errorf("row %d is not there after the commit", id)
		}
	}
}

func TestPatch(t *testing.T) {
	tests := []struct {
		name     string
		old      []driver.Value
		edits    []driver.Edit
		want     []driver.Value // title, views, note
		overflow int            // index of the edit, or -1
	}{
		{"nothing", values("old", 7), nil, values("old", 7), -1},
		{"set", values("old", 7), []driver.Edit{{Do: driver.Set, Field: 0, Value: driver.StringValue("new")}}, values("new", 7), -1},
		{"set to nothing", values("old", 7), []driver.Edit{{Do: driver.Set, Field: 0}}, []driver.Value{{}, driver.IntValue(7)}, -1},
		{"unset", values("old", 7), []driver.Edit{{Do: driver.Unset, Field: 1}}, []driver.Value{driver.StringValue("old")}, -1},
		{"add", values("old", 7), []driver.Edit{{Do: driver.Add, Field: 1, Value: driver.IntValue(-9)}}, values("old", -2), -1},
		{"add to nothing", []driver.Value{driver.StringValue("old")}, []driver.Edit{{Do: driver.Add, Field: 1, Value: driver.IntValue(5)}},
			values("old", 5), -1},
		{"up to the greatest", values("old", 7), []driver.Edit{{Do: driver.Add, Field: 1, Value: driver.IntValue(math.MaxInt64 - 7)}},
			values("old", math.MaxInt64), -1},
		{"beyond the greatest", values("old", 7), []driver.Edit{{Do: driver.Add, Field: 1, Value: driver.IntValue(math.MaxInt64 - 6)}},
			values("old", 7), 0},
		{"below the least", values("old", -7), []driver.Edit{
			{Do: driver.Set, Field: 0, Value: driver.StringValue("new")},
			{Do: driver.Add, Field: 1, Value: driver.IntValue(math.MinInt64)},
		}, values("old", -7), 1},
		{"add to a text", values("old", 7), []driver.Edit{{Do: driver.Add, Field: 0, Value: driver.IntValue(1)}}, values("old", 7), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := posts()
			s := open(t, nil, table)
			k := key(t, table, "ann", 1)
			commit(t, s, driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: k, Fields: tt.old}})
			op := driver.Op{Do: driver.Patch, If: driver.Present, Table: table, Row: driver.Row{Key: k}, Edits: tt.edits}
			refusal, err := s.Commit(t.Context(), driver.NewToken(), []driver.Op{op})
			if err != nil {
				t.Fatal(err)
			}
			if tt.overflow >= 0 && (refusal == nil || !refusal.Overflow || refusal.Edit != tt.overflow) {
				t.Errorf("refusal = %+v, want overflow of edit %d", refusal, tt.overflow)
			}
			if tt.overflow < 0 && refusal != nil {
				t.Errorf("refusal = %+v, want none", refusal)
			}
			got := get(t, s, table, k).Fields
			if !slices.EqualFunc(got[:len(tt.want)], tt.want, driver.Value.Equal) {
				t.Errorf("fields = %v, want %v", got, tt.want)
			}
		})
	}
}

func values(title string, views int64) []driver.Value {
	return []driver.Value{driver.StringValue(title), driver.IntValue(views)}
}

func TestPatchMeta(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	k := key(t, table, "ann", 1)
	op := put(table, k, "old", 7)
	op.Row.Expires, op.Row.Meta = 100, "note"
	commit(t, s, op)
	patch := driver.Op{Do: driver.Patch, If: driver.Present, Table: table, Row: driver.Row{Key: k, Expires: 5, Meta: "n"}}
	commit(t, s, patch)
	if r := get(t, s, table, k); r.Expires != 100 || r.Meta != "note" {
		t.Errorf("a patch without PatchMeta set expiry %d and note %q", r.Expires, r.Meta)
	}
	patch.PatchMeta = true
	commit(t, s, patch)
	if r := get(t, s, table, k); r.Expires != 5 || r.Meta != "n" {
		t.Errorf("a patch with PatchMeta left expiry %d and note %q", r.Expires, r.Meta)
	}
}

func TestRingKeepsTheLastTokens(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	k := key(t, table, "ann", 1)
	var want []driver.Token
	for i := range int64(5) {
		want = append([]driver.Token{commit(t, s, put(table, k, "x", i))}, want...)
		fence := driver.Op{Do: driver.Fence, Table: table, Row: driver.Row{Key: k}, If: driver.AtRev, Rev: want[0]}
		rev := commit(t, s, fence)
		got := get(t, s, table, k)
		if got.Rev != rev || !slices.Equal(got.Ring, want[:min(3, len(want))]) {
			t.Fatalf("after %d puts: rev %v, ring %v; want %v, %v", i+1, got.Rev, got.Ring, rev, want)
		}
	}
}

func TestSentAgainAnswersAsBefore(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	k := key(t, table, "ann", 1)
	insert := put(table, k, "x", 1)
	insert.If = driver.Absent
	token := commit(t, s, insert)
	for range 2 {
		if refusal, err := s.Commit(t.Context(), token, []driver.Op{insert}); refusal != nil || err != nil {
			t.Fatalf("sent again: %v, %v", refusal, err)
		}
		commit(t, s, put(table, k, "y", 2))
	}
	commit(t, s, put(table, k, "z", 3)) // the token leaves the ring
	if refusal, err := s.Commit(t.Context(), token, []driver.Op{insert}); refusal == nil || err != nil {
		t.Fatalf("sent again after the token left the ring: %v, %v; want a refusal", refusal, err)
	}
}

func TestFenceOfAMissingRow(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	k := key(t, table, "ann", 1)
	rev := commit(t, s, driver.Op{Do: driver.Fence, Table: table, If: driver.Absent, Row: driver.Row{Key: k, Expires: 9, Meta: "no"}})
	r := get(t, s, table, k)
	if r.Rev != rev || !r.Dead || r.Expires != 9 || r.Meta != "" || len(r.Ring) != 0 {
		t.Errorf("row = %+v, want a dead one that expires at 9 and has nothing else", r)
	}
}

func TestFieldsBelongToTheirNames(t *testing.T) {
	one := posts()
	two := posts()
	two.Fields = []driver.Column{{Name: "colour", Kind: driver.String}, {Name: "title", Kind: driver.String}}
	s := open(t, nil, one, two)
	k := key(t, one, "ann", 1)
	op := put(one, k, "hello", 3)
	op.Row.Extra = []driver.Pair{{Name: "colour", Value: driver.StringValue("red")}, {Name: "size", Value: driver.IntValue(4)}}
	commit(t, s, op)
	got := get(t, s, two, k)
	want := []driver.Value{driver.StringValue("red"), driver.StringValue("hello")}
	extra := []driver.Pair{{Name: "size", Value: driver.IntValue(4)}, {Name: "views", Value: driver.IntValue(3)}}
	if fmt.Sprint(got.Fields) != fmt.Sprint(want) || fmt.Sprint(got.Extra) != fmt.Sprint(extra) {
		t.Errorf("read by the other table: %v and %v, want %v and %v", got.Fields, got.Extra, want, extra)
	}
	rows := make([]driver.Row, 1)
	if err := s.Get(t.Context(), two, []driver.Key{k}, []int{1}, rows); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(rows[0].Fields) != `["hello"]` || len(rows[0].Extra) != 0 {
		t.Errorf("read with a mask: %v and %v", rows[0].Fields, rows[0].Extra)
	}
}

func TestInvalidCommits(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	k := key(t, table, "ann", 1)
	good := put(table, k, "x", 1)
	with := func(change func(*driver.Op)) []driver.Op {
		op := good
		change(&op)
		return []driver.Op{op}
	}
	extra := func(names ...string) []driver.Op {
		return with(func(op *driver.Op) {
			for _, n := range names {
				op.Row.Extra = append(op.Row.Extra, driver.Pair{Name: n, Value: driver.IntValue(1)})
			}
		})
	}
	edit := func(e driver.Edit) []driver.Op {
		return with(func(op *driver.Op) { op.Do, op.If, op.Edits = driver.Patch, driver.Present, []driver.Edit{e} })
	}
	tests := map[string][]driver.Op{
		"no table":              with(func(op *driver.Op) { op.Table = nil }),
		"unknown table":         with(func(op *driver.Op) { op.Table = posts() }),
		"same key twice":        {good, good},
		"unknown verb":          with(func(op *driver.Op) { op.Do = 99 }),
		"unknown condition":     with(func(op *driver.Op) { op.If = 99 }),
		"patch of anything":     with(func(op *driver.Op) { op.Do = driver.Patch }),
		"too many fields":       with(func(op *driver.Op) { op.Row.Fields = make([]driver.Value, 3) }),
		"declared extra":        extra("views"),
		"extra not ascending":   extra("b", "a"),
		"extra twice":           extra("a", "a"),
		"edit of no field":      edit(driver.Edit{Field: 2}),
		"edit of a minus":       edit(driver.Edit{Field: -2}),
		"edit declared":         edit(driver.Edit{Field: -1, Name: "views"}),
		"unknown edit":          edit(driver.Edit{Do: 99}),
		"add of a text":         edit(driver.Edit{Do: driver.Add, Field: 1, Value: driver.StringValue("1")}),
		"add of nothing at all": edit(driver.Edit{Do: driver.Add, Field: 1}),
	}
	for name, ops := range tests {
		if _, err := s.Commit(t.Context(), driver.NewToken(), ops); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := s.Commit(t.Context(), driver.Token{}, []driver.Op{good}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("zero token: %v, want ErrInvalid", err)
	}
	if r := get(t, s, table, k); !r.Rev.IsZero() {
		t.Error("an invalid commit wrote the row")
	}
	commit(t, s, good)
}

func TestUnits(t *testing.T) {
	table := posts()
	index := posts()
	index.Name, index.Class, index.Home = "posts.by_title", driver.Rows, table
	remote := posts()
	remote.Name, remote.Class = "posts.by_views", driver.Rows
	ann, ann2, bob := key(t, table, "ann", 1), key(t, table, "ann", 2), key(t, table, "bob", 1)
	commits := []struct {
		name string
		need driver.Scope
		ops  []driver.Op
	}{
		{"one row", driver.ScopeRecord, []driver.Op{put(table, ann, "x", 1)}},
		{"two of one partition", driver.ScopePartition, []driver.Op{put(table, ann, "x", 1), put(table, ann2, "x", 1)}},
		{"a row and its index row", driver.ScopePartition, []driver.Op{put(index, ann, "x", 1), put(table, ann, "x", 1)}},
		{"two partitions", driver.ScopeStore, []driver.Op{put(table, ann, "x", 1), put(table, bob, "x", 1)}},
		{"a remote index row", driver.ScopeStore, []driver.Op{put(table, ann, "x", 1), put(remote, ann, "x", 1)}},
	}
	for _, scope := range []driver.Scope{driver.ScopeRecord, driver.ScopePartition, driver.ScopeStore} {
		s := open(t, &memory.Options{Scope: &scope}, table, index, remote)
		if got := s.Facts().Scope; got != scope {
			t.Errorf("Facts().Scope = %v, want %v", got, scope)
		}
		for _, c := range commits {
			_, err := s.Commit(t.Context(), driver.NewToken(), c.ops)
			if done := err == nil; done != (c.need <= scope) || !done && !errors.Is(err, driver.ErrInvalid) {
				t.Errorf("scope %v, %s: %v", scope, c.name, err)
			}
		}
	}
}

func TestDefine(t *testing.T) {
	base := posts()
	s := open(t, nil, base)
	k := key(t, base, "ann", 1)
	commit(t, s, put(base, k, "x", 1))
	tests := []struct {
		name   string
		change func(*driver.Table)
		define error
		attach error
	}{
		{"the same", func(*driver.Table) {}, nil, nil},
		{"fewer fields", func(t *driver.Table) { t.Fields = nil }, nil, nil},
		{"other partition", func(t *driver.Table) { t.Partition[0].Kind = driver.Int }, driver.ErrSchema, driver.ErrSchema},
		{"other sort", func(t *driver.Table) { t.Sort[0].Desc = true }, driver.ErrSchema, driver.ErrSchema},
		{"no sort", func(t *driver.Table) { t.Sort = nil }, driver.ErrSchema, driver.ErrSchema},
		{"other kind of a field", func(t *driver.Table) { t.Fields[1].Kind = driver.Float }, driver.ErrSchema, driver.ErrSchema},
		{"a field twice", func(t *driver.Table) { t.Fields[1].Name = "title" }, driver.ErrInvalid, driver.ErrInvalid},
		{"no partition", func(t *driver.Table) { t.Partition = nil }, driver.ErrInvalid, driver.ErrInvalid},
		{"native without a home", func(t *driver.Table) { t.Native = true }, driver.ErrInvalid, driver.ErrInvalid},
		{"another table", func(t *driver.Table) { t.Name = "other" }, nil, driver.ErrSchema},
		{"a new field", func(t *driver.Table) { t.Fields[1].Name = "new" }, nil, driver.ErrSchema},
	}
	for _, tt := range tests {
		changed := posts()
		tt.change(changed)
		if err := s.Attach(t.Context(), []*driver.Table{changed}); !errors.Is(err, tt.attach) {
			t.Errorf("attach with %s: %v, want %v", tt.name, err, tt.attach)
		}
		if err := s.Define(t.Context(), []*driver.Table{changed}); !errors.Is(err, tt.define) {
			t.Errorf("define with %s: %v, want %v", tt.name, err, tt.define)
		}
		if err := s.Attach(t.Context(), []*driver.Table{changed}); !errors.Is(err, tt.define) {
			t.Errorf("attach with %s after define: %v, want %v", tt.name, err, tt.define)
		}
	}
	if r := get(t, s, base, k); r.Rev.IsZero() {
		t.Error("defining again removed a row")
	}
}

func TestDefineIsAllOrNothing(t *testing.T) {
	s := open(t, nil)
	good, bad := posts(), posts()
	bad.Name, bad.Partition = "bad", nil
	if err := s.Define(t.Context(), []*driver.Table{good, bad}); !errors.Is(err, driver.ErrInvalid) {
		t.Fatalf("Define = %v, want ErrInvalid", err)
	}
	if err := s.Attach(t.Context(), []*driver.Table{good}); !errors.Is(err, driver.ErrSchema) {
		t.Errorf("Attach = %v, want ErrSchema: the table must not have come to be", err)
	}
}

func TestDrop(t *testing.T) {
	table, other := posts(), posts()
	other.Name = "others"
	s := open(t, nil, table, other)
	k := key(t, table, "ann", 1)
	commit(t, s, put(table, k, "x", 1), put(other, k, "x", 1))
	never := posts()
	never.Name = "never"
	if err := s.Drop(t.Context(), []*driver.Table{table, never}); err != nil {
		t.Fatal(err)
	}
	if err := s.Get(t.Context(), table, nil, nil, nil); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("Get of a dropped table = %v, want ErrInvalid", err)
	}
	if r := get(t, s, other, k); r.Rev.IsZero() {
		t.Error("the drop took a row of the other table")
	}
	if err := s.Define(t.Context(), []*driver.Table{table}); err != nil {
		t.Fatal(err)
	}
	if r := get(t, s, table, k); !r.Rev.IsZero() {
		t.Error("the row is there after drop and define")
	}
}

func TestEndedContextDoesNothing(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	k := key(t, table, "ann", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range calls(ctx, s, table, k) {
		if !errors.Is(err, driver.ErrTimeout) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want ErrTimeout and context.Canceled", name, err)
		}
	}
	if r := get(t, s, table, k); !r.Rev.IsZero() {
		t.Error("a commit was done although its context had ended")
	}
}

func TestClosedStore(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	k := key(t, table, "ann", 1)
	for name, err := range calls(t.Context(), s, table, k) { // the control
		if err != nil {
			t.Errorf("%s before Close = %v", name, err)
		}
	}
	commit(t, s, put(table, k, "x", 1), put(table, key(t, table, "ann", 2), "x", 1))
	for _, err := range s.Range(t.Context(), driver.Span{Table: table, Key: k}) {
		if err != nil {
			if !errors.Is(err, driver.ErrClosed) {
				t.Errorf("Range after Close = %v, want ErrClosed", err)
			}
			continue
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	for name, err := range calls(t.Context(), s, table, k) {
		if !errors.Is(err, driver.ErrClosed) {
			t.Errorf("%s after Close = %v, want ErrClosed", name, err)
		}
	}
}

// calls calls every method and returns their errors.
func calls(ctx context.Context, s *memory.Store, table *driver.Table, k driver.Key) map[string]error {
	errs := map[string]error{}
	errs["Get"] = s.Get(ctx, table, []driver.Key{k}, nil, make([]driver.Row, 1))
	_, errs["Commit"] = s.Commit(ctx, driver.NewToken(), []driver.Op{put(table, k, "x", 1)})
	errs["Range"], errs["Walk"] = nil, nil
	for _, err := range s.Range(ctx, driver.Span{Table: table, Key: k}) {
		errs["Range"] = err
	}
	for _, err := range s.Walk(ctx, table, "") {
		errs["Walk"] = err
	}
	_, errs["Count"] = s.Count(ctx, driver.Span{Table: table, Key: k})
	_, errs["Size"] = s.Size(ctx, table)
	errs["Define"] = s.Define(ctx, []*driver.Table{table})
	errs["Attach"] = s.Attach(ctx, []*driver.Table{table})
	errs["Drop"] = s.Drop(ctx, nil)
	return errs
}

func TestConcurrentCompareAndSet(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	k := key(t, table, "ann", 1)
	commit(t, s, put(table, k, "x", 0))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for done := 0; done < 50; {
				rows := make([]driver.Row, 1)
				if err := s.Get(t.Context(), table, []driver.Key{k}, nil, rows); err != nil {
					t.Error(err)
					return
				}
				op := put(table, k, "x", rows[0].Fields[1].Int()+1)
				op.If, op.Rev = driver.AtRev, rows[0].Rev
				refusal, err := s.Commit(t.Context(), driver.NewToken(), []driver.Op{op})
				if err != nil {
					t.Error(err)
					return
				}
				if refusal == nil {
					done++
				}
			}
		})
	}
	group.Wait()
	if got := get(t, s, table, k).Fields[1].Int(); got != 400 {
		t.Errorf("400 acknowledged increments make %d", got)
	}
}

func TestSizeGrowsAndShrinks(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	k := key(t, table, "ann", 1)
	sizes := []int64{}
	for _, op := range []driver.Op{
		put(table, k, "x", 1), put(table, k, "a longer text", 1), {Do: driver.Delete, Table: table, Row: driver.Row{Key: k}},
	} {
		commit(t, s, op)
		n, err := s.Size(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, n)
	}
	if sizes[0] <= 0 || sizes[1] <= sizes[0] || sizes[2] != 0 {
		t.Errorf("sizes = %v, want some, more, 0", sizes)
	}
}
