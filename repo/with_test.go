package repo_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

type tenant struct {
	ID    string `repo:"tenant"`
	Title string `repo:"title"`
}

type bill struct {
	Tenant string `repo:"tenant"`
	N      int64  `repo:"n"`
	Title  int64  `repo:"title"` // of another kind than that of a tenant
	Due    string `repo:"due"`
}

var (
	tenantSchema = repo.Schema{Collection: "tenants", Partition: []string{"tenant"}}
	billSchema   = repo.Schema{Collection: "bills", With: "tenants", Partition: []string{"tenant"}, Sort: []string{"n"},
		Indexes: []repo.Index{{Partition: []string{"tenant"}, Sort: []string{"due"}}}}
)

// openBills opens two collections that lie together, on a store that changes one partition at a time.
func openBills(t *testing.T) (*repo.Store, *repo.Repo[tenant], *repo.Repo[bill]) {
	t.Helper()
	scope := driver.ScopePartition
	store := repo.NewStore(memory.New(&memory.Options{Scope: &scope}), nil)
	tenants, err := repo.Open[tenant](t.Context(), store, tenantSchema)
	if err != nil {
		t.Fatal(err)
	}
	bills, err := repo.Open[bill](t.Context(), store, billSchema)
	if err != nil {
		t.Fatal(err)
	}
	return store, tenants, bills
}

// Records of one partition change together where their collections lie together.
func TestWith(t *testing.T) {
	store, tenants, bills := openBills(t)
	g := store.Group()
	tenants.In(g).Insert(&tenant{ID: "a", Title: "one"})
	bills.In(g).Insert(&bill{Tenant: "a", N: 1, Title: 7, Due: "may"})
	if err := g.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	g = store.Group()
	tenants.In(g).Check(repo.Key{"a"}, repo.IfAbsent())
	bills.In(g).Delete(repo.Key{"a", int64(1)})
	if err := g.Commit(t.Context()); !errors.Is(err, repo.ErrExists) {
		t.Errorf("%v, want ErrExists", err)
	}
	if list, err := repo.Collect(bills.Find(t.Context(), repo.Where("tenant", "a").Order("due"))); err != nil || len(list) != 1 || list[0].Title != 7 {
		t.Errorf("bills %v, %v", list, err)
	}
	p, err := bills.Explain(repo.Where("tenant", "a"))
	if err != nil || p.With != "tenants" || !strings.HasPrefix(p.String(), "bills with tenants: ") {
		t.Errorf("explained as %v, %v", p, err)
	}
	if w := bills.ExplainWrites()[0]; w.With != "tenants" || !strings.HasPrefix(w.String(), "bills with tenants: insert") {
		t.Errorf("writes are explained as %v", w)
	}
	if s, err := repo.SchemaOf(t.Context(), store, "bills"); err != nil || s.With != "tenants" {
		t.Errorf("the schema is %v, %v", s, err)
	}
}

func TestWithFaults(t *testing.T) {
	store, _, _ := openBills(t)
	change := func(f func(s *repo.Schema)) repo.Schema {
		s := billSchema
		s.Collection = "more"
		f(&s)
		return s
	}
	for want, s := range map[string]repo.Schema{
		"is not in the store":       change(func(s *repo.Schema) { s.With = "nobody" }),
		"lie with itself":           change(func(s *repo.Schema) { s.With = "more" }),
		"no collection can be":      change(func(s *repo.Schema) { s.With = "No One" }),
		"lies with tenants itself":  change(func(s *repo.Schema) { s.With = "bills" }),
		"partition is (tenant str":  change(func(s *repo.Schema) { s.Partition, s.Sort, s.Indexes = []string{"n"}, []string{"tenant"}, nil }),
		"by themselves in the sche": change(func(s *repo.Schema) { s.Collection, s.With = "bills", "" }),
		"with collection x in the":  change(func(s *repo.Schema) { s.Collection, s.With = "bills", "x" }),
	} {
		if _, err := repo.Open[bill](t.Context(), store, s); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := repo.Open[tenant](t.Context(), store, repo.Schema{Collection: "tenants", With: "bills", Partition: []string{"tenant"}}); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("both with each other: %v", err)
	}
	if names, err := repo.Collections(t.Context(), store); err != nil || !reflect.DeepEqual(names, []string{"bills", "tenants"}) {
		t.Errorf("the store has %v, %v", names, err)
	}
}

func TestDropWith(t *testing.T) {
	store, tenants, bills := openBills(t)
	if err := repo.DropCollection(t.Context(), store, "tenants"); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "bills lies with") {
		t.Errorf("%v, want ErrInvalid", err)
	}
	if err := tenants.Insert(t.Context(), &tenant{ID: "a"}); err != nil {
		t.Errorf("after a drop that was refused: %v", err)
	}
	if err := bills.Insert(t.Context(), &bill{Tenant: "a"}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"bills", "tenants"} {
		if err := repo.DropCollection(t.Context(), store, name); err != nil {
			t.Error(err)
		}
	}
}

// A joining store does something else after the next change of the catalog, or after it was read through.
type joining struct {
	driver.Store
	join, walked func()
}

func (s *joining) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		s.Store.Walk(ctx, t, mark)(yield)
		if f := s.walked; f != nil && t.Name == "_catalog" {
			s.walked = nil
			f()
		}
	}
}

func (s *joining) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	refusal, err := s.Store.Commit(ctx, token, ops)
	if f := s.join; f != nil && ops[0].Table.Name == "_catalog" {
		s.join = nil
		f()
	}
	return refusal, err
}

// A collection that comes to lie with one whose drop has begun does not, or the drop ends.
func TestDropWhileJoined(t *testing.T) {
	s := &joining{Store: memory.New(nil)}
	store := repo.NewStore(s, nil)
	if _, err := repo.Open[tenant](t.Context(), store, tenantSchema); err != nil {
		t.Fatal(err)
	}
	var joined error
	s.join = func() { _, joined = repo.Open[bill](t.Context(), store, billSchema) }
	if err := repo.DropCollection(t.Context(), store, "tenants"); err != nil || !errors.Is(joined, repo.ErrSchema) || !strings.Contains(joined.Error(), "being dropped") {
		t.Errorf("dropped: %v, joined: %v", err, joined)
	}
	open := func() {
		t.Helper()
		if _, err := repo.Open[tenant](t.Context(), store, tenantSchema); err != nil {
			t.Fatal(err)
		}
	}
	open()
	var dropped error
	s.join = func() { dropped = repo.DropCollection(t.Context(), store, "tenants") } // before bills has tables
	if _, err := repo.Open[bill](t.Context(), store, billSchema); err != nil || !errors.Is(dropped, repo.ErrInvalid) {
		t.Errorf("joined: %v, dropped: %v", err, dropped)
	}
	if err := repo.DropCollection(t.Context(), store, "bills"); err != nil {
		t.Fatal(err)
	}
	s.walked = func() { _, joined = repo.Open[bill](t.Context(), store, billSchema) }
	if err := repo.DropCollection(t.Context(), store, "tenants"); !errors.Is(err, repo.ErrInvalid) || joined != nil {
		t.Errorf("dropped: %v, joined: %v", err, joined)
	}
	open()
}
