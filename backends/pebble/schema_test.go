package pebble_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

func TestDefineAndAttach(t *testing.T) {
	base := noteTables()[0]
	s := mustOpen(t, "", &pebble.Options{InMemory: true}, []*driver.Table{base})
	mustCommit(t, s, insertNote([]*driver.Table{base}, 1, "x"))
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
		{"a field twice", func(t *driver.Table) { t.Fields[1].Name = "text" }, driver.ErrInvalid, driver.ErrInvalid},
		{"no partition", func(t *driver.Table) { t.Partition = nil }, driver.ErrInvalid, driver.ErrInvalid},
		{"native", func(t *driver.Table) { t.Native = true }, driver.ErrUnsupported, driver.ErrUnsupported},
		{"another table", func(t *driver.Table) { t.Name = "other" }, nil, driver.ErrSchema},
		{"a new field", func(t *driver.Table) { t.Fields[1].Name = "new" }, nil, driver.ErrSchema},
	}
	for _, tt := range tests {
		changed := noteTables()[0]
		tt.change(changed)
		good := noteTables()[1] // with a bad one: all or none
		good.Name = "good." + fmt.Sprint(len(tt.name))
		if err := s.Attach(t.Context(), []*driver.Table{changed}); !errors.Is(err, tt.attach) {
			t.Errorf("attach with %s: %v, want %v", tt.name, err, tt.attach)
		}
		if err := s.Define(t.Context(), []*driver.Table{good, changed}); !errors.Is(err, tt.define) {
			t.Errorf("define with %s: %v, want %v", tt.name, err, tt.define)
		}
		if err := s.Attach(t.Context(), []*driver.Table{changed}); !errors.Is(err, tt.define) {
			t.Errorf("attach with %s after define: %v, want %v", tt.name, err, tt.define)
		}
	}
	if r := mustGet(t, s, base, noteKey(1)); r.Rev.IsZero() || r.Fields[0].Str() != "x" {
		t.Errorf("defining again changed a row: %+v", r)
	}
}

func TestDefineIsAllOrNothing(t *testing.T) {
	s := mustOpen(t, "", &pebble.Options{InMemory: true}, nil)
	good, bad := noteTables()[0], noteTables()[1]
	bad.Partition = nil
	if err := s.Define(t.Context(), []*driver.Table{good, bad}); !errors.Is(err, driver.ErrInvalid) {
		t.Fatalf("Define = %v, want ErrInvalid", err)
	}
	if err := s.Attach(t.Context(), []*driver.Table{good}); !errors.Is(err, driver.ErrSchema) {
		t.Errorf("Attach = %v, want ErrSchema: the table must not have come to be", err)
	}
}

// TestManyTables defines more tables than one byte can number, at once and from
// several goroutines, and opens them again.
func TestManyTables(t *testing.T) {
	disk := vfs.NewMem()
	opts := &pebble.Options{FS: disk}
	s := mustOpen(t, "/data", opts, nil)
	var tables []*driver.Table
	for i := range 300 {
		table := noteTables()[0]
		table.Name = fmt.Sprintf("t%d", i)
		tables = append(tables, table)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, i := range rand.Perm(len(tables)) {
				if err := s.Define(t.Context(), tables[i:i+1]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for i, table := range tables {
		mustCommit(t, s, insertNote([]*driver.Table{table}, i, table.Name))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, "/data", opts, nil)
	if err := again.Attach(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	for i, table := range tables {
		n := 0
		for chunk, err := range again.Walk(t.Context(), table, "") {
			if err != nil {
				t.Fatal(err)
			}
			n += len(chunk.Rows)
			if r := chunk.Rows[0]; r.Fields[0].Str() != table.Name || r.Key.Sort != noteKey(i).Sort {
				t.Errorf("table %s has the row %+v", table.Name, r)
			}
		}
		if n != 1 {
			t.Errorf("table %s has %d rows, want 1", table.Name, n)
		}
	}
}

// TestDroppedTablesDoNotComeBack drops a table while others write to it, and
// defines it again.
func TestDroppedTablesDoNotComeBack(t *testing.T) {
	disk := vfs.NewMem()
	opts := &pebble.Options{FS: disk}
	tables := noteTables()
	s := mustOpen(t, "/data", opts, tables)
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for i := 0; ; i++ {
				_, err := s.Commit(t.Context(), driver.NewToken(), insertNote(tables[:1], 1000*w+i, "x"))
				if errors.Is(err, driver.ErrInvalid) { // the table is gone
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	mustCommit(t, s, insertNote(tables[1:], 1, "kept"))
	if err := s.Drop(t.Context(), tables[:1]); err != nil {
		t.Fatal(err)
	}
	within(t, "the writers", group.Wait)
	if err := s.Drop(t.Context(), tables[:1]); err != nil {
		t.Errorf("dropping what is not there: %v", err)
	}
	for range 2 {
		if err := s.Define(t.Context(), tables); err != nil {
			t.Fatal(err)
		}
		for _, err := range s.Walk(t.Context(), tables[0], "") {
			t.Fatalf("the dropped table has rows, or %v", err)
		}
		if r := mustGet(t, s, tables[2], noteKey(1)); r.Rev.IsZero() {
			t.Error("the drop took a row of another table")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, "/data", opts, nil)
	}
}

func TestSizes(t *testing.T) {
	for _, opts := range []*pebble.Options{{InMemory: true}, {FS: vfs.NewMem()}} {
		dir := "/data"
		if opts.InMemory {
			dir = ""
		}
		tables := noteTables()
		s := mustOpen(t, dir, opts, tables)
		size := func(table *driver.Table) int64 {
			t.Helper()
			n, err := s.Size(t.Context(), table)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := size(tables[0]); n != 0 {
			t.Errorf("an empty table takes %d bytes", n)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		text := make([]byte, 200)
		for id := range 2000 {
			for i := range text {
				text[i] = 'a' + byte(rng.IntN(26))
			}
			mustCommit(t, s, insertNote(tables, id, string(text)))
		}
		records, keysOnly := size(tables[0]), size(tables[1])
		if records < 2000*100 || records > 2000*1000 || keysOnly <= 0 || keysOnly >= records {
			t.Errorf("2000 notes of 200 letters take %d bytes, their keys alone %d", records, keysOnly)
		}
		single := noteTables()[0]
		single.Name = "single"
		if err := s.Define(t.Context(), []*driver.Table{single}); err != nil {
			t.Fatal(err)
		}
		mustCommit(t, s, insertNote([]*driver.Table{single}, 1, "x"))
		if n := size(single); n <= 0 || n > 100_000 {
			t.Errorf("a table of one note takes %d bytes", n)
		}
	}
}

func TestFacts(t *testing.T) {
	tests := []struct {
		dir     string
		opts    *pebble.Options
		class   driver.Durability
		setting string
	}{
		{t.TempDir(), nil, driver.Power, "sync=true"},
		{t.TempDir(), &pebble.Options{NoSync: true}, driver.Memory, "sync=false"},
		{"", &pebble.Options{InMemory: true}, driver.Memory, "in memory"},
	}
	for _, tt := range tests {
		f := mustOpen(t, tt.dir, tt.opts, nil).Facts()
		if f.Name != "pebble" || f.Scope != driver.ScopeStore || !f.OneProcess || f.Uncertain || f.Version == "" {
			t.Errorf("facts = %+v", f)
		}
		if f.Durability != tt.class || f.Setting != tt.setting {
			t.Errorf("%+v: class %v by %q, want %v by %q", tt.opts, f.Durability, f.Setting, tt.class, tt.setting)
		}
		for _, a := range []driver.Ability{f.Native, f.Counts, f.Sizes} {
			if a.Reason == "" {
				t.Errorf("an ability without a reason: %+v", f)
			}
		}
	}
}
