package repo_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// filled opens a collection and inserts records.
func filled[T any](t *testing.T, store *repo.Store, schema repo.Schema, records ...T) *repo.Repo[T] {
	t.Helper()
	r := must[T](t, store, schema)
	for i := range records {
		if err := r.Insert(t.Context(), &records[i]); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// A gathering store reads several tables of a partition at once, and may do something wrong.
type gathering struct {
	driver.Store
	calls atomic.Int32
	wrong func(i *int, row *driver.Row) error
}

func (s *gathering) Gather(ctx context.Context, tables []*driver.Table, partition string, yield func(i int, row *driver.Row) bool) error {
	s.calls.Add(1)
	for i, t := range tables {
		for row, err := range s.Store.Range(ctx, driver.Span{Table: t, Key: driver.Key{Partition: partition}}) {
			if err != nil {
				return err
			}
			of := i
			if s.wrong != nil {
				if err := s.wrong(&of, row); err != nil {
					return err
				}
			}
			if !yield(of, row) {
				return nil
			}
		}
	}
	return nil
}

func TestReadPartition(t *testing.T) {
	g := &gathering{Store: memory.New(nil)}
	store := repo.NewStore(g, nil)
	tenants := filled(t, store, tenantSchema, tenant{ID: "a", Title: "one"}, tenant{ID: "b"})
	bills := filled(t, store, billSchema, bill{Tenant: "a", N: 2, Due: "x"}, bill{Tenant: "a", N: 1, Due: "y"}, bill{Tenant: "b", N: 3})
	var of []tenant
	var due []bill
	read := func(key repo.Key) error {
		return store.ReadPartition(t.Context(), key, tenants.Into(&of), bills.Into(&due))
	}
	if err := read(repo.Key{"a"}); err != nil || len(of) != 1 || of[0].Title != "one" || len(due) != 2 || due[0].N != 1 || due[1].Due != "x" {
		t.Errorf("%v, %v, %v", of, due, err)
	}
	if n := g.calls.Load(); n != 1 {
		t.Errorf("%d gatherings, want 1", n)
	}
	for what, tt := range map[string]struct {
		wrong func(i *int, row *driver.Row) error
		want  error
		name  string
	}{
		"a table that was not asked for": {func(i *int, _ *driver.Row) error { *i = 7; return nil }, repo.ErrInternal, "tenants"},
		"too many fields":                {func(_ *int, r *driver.Row) error { r.Fields = make([]driver.Value, 9); return nil }, repo.ErrInternal, "tenants"},
		"a value of another kind": {func(i *int, r *driver.Row) error {
			if *i == 1 {
				r.Fields = []driver.Value{driver.StringValue("x")}
			}
			return nil
		}, repo.ErrSchema, "bills"},
		"no server": {func(*int, *driver.Row) error { return driver.ErrUnavailable }, repo.ErrUnavailable, "tenants"},
	} {
		g.wrong = tt.wrong
		err := read(repo.Key{"b"})
		if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, tt.want) || e.Collection != tt.name || e.Op != "read partition" {
			t.Errorf("%s: %v, want %v of %s", what, err, tt.want, tt.name)
		}
		if len(of) != 1 || of[0].ID != "a" || len(due) != 2 {
			t.Errorf("%s: the lists are %v, %v, want those of before", what, of, due)
		}
	}
}

func TestReadPartitionFaults(t *testing.T) {
	store, tenants, bills := openBills(t)
	_, others, _ := openBills(t)
	var of []tenant
	var due []bill
	for want, tt := range map[string]struct {
		key   repo.Key
		parts []repo.Part
	}{
		"is (tenant), and the key has 2": {repo.Key{"a", int64(1)}, []repo.Part{tenants.Into(&of), bills.Into(&due)}},
		"is (tenant), and the key has 0": {nil, []repo.Part{bills.Into(&due)}},
		"named twice":                    {repo.Key{"a"}, []repo.Part{tenants.Into(&of), tenants.Into(&of)}},
		"of another Store":               {repo.Key{"a"}, []repo.Part{others.Into(&of)}},
		"is a nil pointer":               {repo.Key{"a"}, []repo.Part{bills.Into(nil)}},
		"nil or zero":                    {repo.Key{"a"}, []repo.Part{{}}},
		"tenant":                         {repo.Key{7}, []repo.Part{bills.Into(&due)}},
	} {
		if err := store.ReadPartition(t.Context(), tt.key, tt.parts...); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want ErrInvalid: %s", err, want)
		}
	}
	if err := store.ReadPartition(nil, repo.Key{"a"}, bills.Into(&due)); !errors.Is(err, repo.ErrInvalid) { //nolint:staticcheck // nil on purpose
		t.Errorf("without a context: %v", err)
	}
	if err := store.ReadPartition(t.Context(), repo.Key{"a"}); err != nil {
		t.Errorf("of no collections: %v", err)
	}
}

// A record that expires while the partition is read is there or not, as by one look at the clock.
func TestReadPartitionExpiry(t *testing.T) {
	type note struct {
		Tenant string    `repo:"tenant"`
		N      int64     `repo:"n"`
		Until  time.Time `repo:",expires"`
	}
	now, g := time.UnixMilli(1000), &gathering{Store: memory.New(nil)}
	store := repo.NewStore(g, &repo.Options{Now: func() time.Time { return now }})
	tenants := filled(t, store, tenantSchema, tenant{ID: "a"})
	schema := repo.Schema{Collection: "notes", With: "tenants", Partition: []string{"tenant"}, Sort: []string{"n"}}
	notes := filled(t, store, schema, note{"a", 1, time.UnixMilli(999)}, note{"a", 2, time.UnixMilli(2000)}, note{"a", 3, time.Time{}})
	g.wrong = func(*int, *driver.Row) error { now = time.UnixMilli(3000); return nil }
	var of []tenant
	var list []note
	if err := store.ReadPartition(t.Context(), repo.Key{"a"}, tenants.Into(&of), notes.Into(&list)); err != nil || len(of) != 1 || len(list) != 1 || list[0].N != 3 {
		t.Errorf("%v, %v, %v, want note 3 alone", of, list, err)
	}
}
