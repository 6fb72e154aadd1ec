package repo_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A slow store takes a second for every call, so that the time that a write takes is how
// many calls it makes one after the other, and counts what it is asked. It tells by its
// ops what is dropped after a commit.
type slow struct {
	driver.Store
	requests, later atomic.Int64
}

func (s *slow) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	s.requests.Add(int64(len(keys)))
	time.Sleep(time.Second)
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s *slow) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if len(ops) == 1 && ops[0].Do == driver.Delete && ops[0].Table.Class != driver.Records {
		s.later.Add(1)
	} else {
		s.requests.Add(1)
	}
	time.Sleep(time.Second)
	return s.Store.Commit(ctx, token, ops)
}

// A cost is what a write took.
type cost struct{ Depth, Requests, Later int }

// costOf does a write, and waits until what it left to be done later is done.
func (s *slow) costOf(t *testing.T, do func() error) cost {
	t.Helper()
	s.requests.Store(0)
	s.later.Store(0)
	began := time.Now()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	c := cost{Depth: int(time.Since(began) / time.Second), Requests: int(s.requests.Load())}
	time.Sleep(2 * time.Minute)
	c.Later = int(s.later.Load())
	return c
}

type planned struct {
	Home string `repo:"home"`
	ID   string `repo:"id"`
	Team string `repo:"team"`
	Mail string `repo:"mail"`
	Note string `repo:"note"`
}

// writesOf does one write of each kind and returns what it took.
func writesOf(t *testing.T, s *slow, r *repo.Repo[planned]) map[string]cost {
	ctx, key := t.Context(), repo.Key{"h", "a"}
	got := map[string]cost{}
	rec := planned{Home: "h", ID: "a", Team: "red", Mail: "x", Note: "n"}
	got["insert"] = s.costOf(t, func() error { return r.Insert(ctx, &rec) })
	got["update"] = s.costOf(t, func() error {
		_, err := r.Update(ctx, key, func(p *planned) error { p.Note = "o"; return nil })
		return err
	})
	got["move"] = s.costOf(t, func() error {
		_, err := r.Update(ctx, key, func(p *planned) error { p.Team, p.Mail = "blue", "y"; return nil })
		return err
	})
	got["patch"] = s.costOf(t, func() error { _, err := r.Patch(ctx, key, repo.Set("note", "p")); return err })
	got["patch blind"] = s.costOf(t, func() error { _, err := r.PatchBlind(ctx, key, repo.Set("note", "q")); return err })
	got["delete"] = s.costOf(t, func() error { return r.Delete(ctx, key) })
	return got
}

var (
	far  = []repo.Index{{Name: "teams", Partition: []string{"team"}}, {Name: "mails", Partition: []string{"mail"}, Unique: true}}
	near = []repo.Index{{Name: "teams", Partition: []string{"home"}, Sort: []string{"team"}}, {Name: "mails", Partition: []string{"home"}, Sort: []string{"mail"}, Unique: true}}
)

// What ExplainWrites says is what writes take, on every kind of store; and the portable
// protocol is at most two calls deeper than the same write without the indexes that it
// keeps.
func TestWritePlansAreWhatWritesTake(t *testing.T) {
	for _, tt := range []struct {
		name    string
		scope   driver.Scope
		certain bool
		indexes []repo.Index
		path    string
	}{
		{"store", driver.ScopeStore, false, far, "one commit of the record and its rows"},
		{"store, certain", driver.ScopeStore, true, far, "one commit of the record and its rows"},
		{"partition", driver.ScopePartition, false, near, "one commit of the record and its rows"},
		{"apart", driver.ScopePartition, false, far, "the portable protocol"},
		{"one index apart, one not", driver.ScopePartition, false, []repo.Index{near[0], far[1]}, "the portable protocol"},
		{"record, native", driver.ScopeRecord, false, far, "one commit of the record; the store keeps its indexes"},
		{"no index", driver.ScopeRecord, false, nil, "one commit of the record"},
		{"no index, certain", driver.ScopeRecord, true, nil, "one commit of the record"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				measure := func(indexes []repo.Index) ([]repo.WritePlan, map[string]cost) {
					s := &slow{Store: memory.New(&memory.Options{Scope: &tt.scope, Uncertain: !tt.certain})}
					store := repo.NewStore(s, nil)
					r, err := repo.Open[planned](t.Context(), store, repo.Schema{Collection: "plans", Partition: []string{"home"}, Sort: []string{"id"}, Indexes: indexes})
					if err != nil {
						t.Fatal(err)
					}
					got := writesOf(t, s, r)
					if err := store.Close(); err != nil {
						t.Error(err)
					}
					return r.ExplainWrites(), got
				}
				plans, got := measure(tt.indexes)
				_, plain := measure(nil)
				said := map[string]cost{}
				for _, p := range plans {
					said[p.Write] = cost{p.Depth, p.Requests, p.Later}
					if !strings.HasPrefix(p.Path, tt.path) {
						t.Errorf("%s: the path is %q", p.Write, p.Path)
					}
					if deeper := got[p.Write].Depth - plain[p.Write].Depth; deeper > 2 {
						t.Errorf("%s is %d calls deeper than without indexes", p.Write, deeper)
					}
				}
				if diff := cmp.Diff(got, said); diff != "" {
					t.Errorf("what writes took (-) and what the plans say (+):\n%s", diff)
				}
			})
		})
	}
}

// The plans are those of a schema that is not open anywhere, too.
func TestPlanWrites(t *testing.T) {
	schema := repo.Schema{Collection: "plans", Partition: []string{"home"}, Sort: []string{"id"}, Indexes: far}
	scope := driver.ScopePartition
	facts := memory.New(&memory.Options{Scope: &scope, Uncertain: true}).Facts()
	plans, err := repo.PlanWrites[planned](facts, schema)
	if err != nil || len(plans) != 6 {
		t.Fatalf("%d plans, %v", len(plans), err)
	}
	want := "plans: move by the portable protocol: one conditional commit of the record, rows and claims in other partitions before and after it; " +
		"3 deep, 4 requests, 2 later; who stops leaves rows and claims of new values before the commit, or of old ones after it: " +
		"no reader returns them, claims pass to whoever wants the value, and Maintain removes them"
	if diff := cmp.Diff(want, plans[2].String()); diff != "" {
		t.Error(diff)
	}
	schema.Partition = []string{"nothing"}
	if _, err := repo.PlanWrites[planned](facts, schema); err == nil {
		t.Error("a schema that is wrong has plans")
	}
}
