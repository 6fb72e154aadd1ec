package link_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/link"
	"github.com/polystore/polystore/repotest"
)

func contains(err error, text string) bool { return strings.Contains(fmt.Sprint(err), text) }

// Of those who add the same link at the same time one succeeds, of those who remove it, too, and both ends agree.
func TestRaces(t *testing.T) {
	onAll(t, func(t *testing.T, store *repo.Store, schema link.Schema) {
		links, ctx := open(t, store, schema), t.Context()
		var added, removed atomic.Int64
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				d := rand.New(rand.NewPCG(uint64(worker), 9))
				for range 40 {
					var err error
					if f := (follow{Who: "a", Whom: "b", Since: int64(worker)}); d.IntN(2) == 0 {
						if err = links.Add(ctx, &f); err == nil {
							added.Add(1)
						}
					} else if err = links.Remove(ctx, "a", "b"); err == nil {
						removed.Add(1)
					}
					if err != nil && !errors.Is(err, repo.ErrExists) && !errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrContention) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		var want []follow
		if f, err := links.Get(ctx, "a", "b"); err == nil {
			want = append(want, f)
		} else if !errors.Is(err, repo.ErrNotFound) {
			t.Fatal(err)
		}
		if int(added.Load()-removed.Load()) != len(want) || added.Load() == 0 {
			t.Errorf("%d were added and %d removed, and %d are there", added.Load(), removed.Load(), len(want))
		}
		for _, err := range differences(ctx, links, schema, want) {
			t.Error(err)
		}
	})
}

// ends is how many ends a storm has.
const ends = 15

// storm makes changes of links on a store that loses answers and calls, by a program that gives up at once, and reports
// how often the two sides differ then, of how many changes whose outcome was unknown.
func storm(t *testing.T, scope driver.Scope, change func(ctx context.Context, store *repo.Store) func(who, whom string, add bool) error) (unknown int, store *repo.Store) {
	t.Helper()
	faulty, err := repotest.New(memory.New(&memory.Options{Scope: &scope, Uncertain: true}), &repotest.Options{Uncertain: true})
	if err != nil {
		t.Fatal(err)
	}
	store = repo.NewStore(faulty, nil)
	t.Cleanup(func() { _ = store.Close() })
	do := change(t.Context(), store)
	if err := faulty.Set(
		repotest.Rule{On: repotest.Commit, Share: 0.2, Fault: repotest.LostAnswer},
		repotest.Rule{On: repotest.Commit, Share: 0.2, Fault: repotest.LostCall},
		repotest.Rule{On: repotest.Commit, Share: 0.1, Fault: repotest.Unavailable},
		repotest.Rule{On: repotest.Get, Share: 0.4, Fault: repotest.Unavailable},
	); err != nil {
		t.Fatal(err)
	}
	d := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		err := do(fmt.Sprint(d.IntN(ends)), fmt.Sprint(d.IntN(ends)), d.IntN(4) > 0)
		if errors.Is(err, repo.ErrUnknownOutcome) {
			unknown++
		}
	}
	if err := faulty.Set(); err != nil {
		t.Fatal(err)
	}
	return unknown, store
}

// oneSided returns the links that one side alone finds.
func oneSided(t *testing.T, from, to func(end string) ([]follow, error)) (bad []string) {
	t.Helper()
	sides := map[follow]int{}
	for i := range ends {
		out, err := from(fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		in, err := to(fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(out, in...) {
			sides[f]++
		}
	}
	for f, n := range sides {
		if n != 2 {
			bad = append(bad, fmt.Sprintf("%v", f))
		}
	}
	return bad
}

// No link is found from one end alone after answers and calls were lost, and their outcomes never settled. Two records,
// one for each end, are.
func TestLostAnswers(t *testing.T) {
	for name, scope := range map[string]driver.Scope{"store": driver.ScopeStore, "partition": driver.ScopePartition} {
		t.Run(name, func(t *testing.T) {
			var links *link.Links[follow]
			unknown, _ := storm(t, scope, func(ctx context.Context, store *repo.Store) func(string, string, bool) error {
				links = open(t, store, schemas["by time"])
				return func(who, whom string, add bool) error {
					if add {
						return links.Put(ctx, &follow{Who: who, Whom: whom, Since: int64(len(who + whom))})
					}
					return links.Remove(ctx, who, whom)
				}
			})
			bad := oneSided(t,
				func(end string) ([]follow, error) { return repo.Collect(links.Find(t.Context(), links.From(end))) },
				func(end string) ([]follow, error) { return repo.Collect(links.Find(t.Context(), links.To(end))) })
			if len(bad) > 0 || unknown == 0 {
				t.Errorf("one side alone has %q, with %d unknown outcomes", bad, unknown)
			}
		})
	}
	var records [2]*repo.Repo[follow]
	_, _ = storm(t, driver.ScopePartition, func(ctx context.Context, store *repo.Store) func(string, string, bool) error {
		for i, s := range []repo.Schema{{Collection: "out", Partition: []string{"who"}, Sort: []string{"whom"}}, {Collection: "in", Partition: []string{"whom"}, Sort: []string{"who"}}} {
			var err error
			if records[i], err = repo.Open[follow](ctx, store, s); err != nil {
				t.Fatal(err)
			}
		}
		return func(who, whom string, add bool) error {
			for i, key := range []repo.Key{{who, whom}, {whom, who}} {
				err := records[i].Delete(ctx, key)
				if add {
					err = records[i].Put(ctx, &follow{Who: who, Whom: whom})
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
	})
	bad := oneSided(t,
		func(end string) ([]follow, error) {
			return repo.Collect(records[0].Find(t.Context(), repo.Where("who", end)))
		},
		func(end string) ([]follow, error) {
			return repo.Collect(records[1].Find(t.Context(), repo.Where("whom", end)))
		})
	if len(bad) == 0 {
		t.Error("two records did not come to differ: the storm shows nothing")
	}
}

// RemoveAll removes the links of one end, says how many, and goes on where a call failed.
func TestRemoveAll(t *testing.T) {
	partition := driver.ScopePartition
	faulty, err := repotest.New(memory.New(&memory.Options{Scope: &partition, Uncertain: true}), &repotest.Options{Uncertain: true})
	if err != nil {
		t.Fatal(err)
	}
	store := repo.NewStore(faulty, nil)
	t.Cleanup(func() { _ = store.Close() })
	links, ctx := open(t, store, schemas["by time"]), t.Context()
	for i := range 1500 {
		add(t, links, []follow{{Who: fmt.Sprint(i), Whom: "x", Since: int64(i % 7)}})
	}
	add(t, links, []follow{{Who: "1", Whom: "y"}, {Who: "x", Whom: "1"}, {Who: "x", Whom: "x"}})
	if err := faulty.Set(repotest.Rule{On: repotest.Commit, Operation: "delete all", Every: 400, Fault: repotest.Unavailable}); err != nil {
		t.Fatal(err)
	}
	sum, calls, n := 0, 0, 0
	for calls < 10 {
		n, err = links.RemoveAll(ctx, links.To("x"))
		sum, calls = sum+n, calls+1
		if err == nil {
			break
		}
		isKind(t, err, repo.ErrUnavailable)
	}
	if sum != 1501 || calls < 2 || err != nil {
		t.Errorf("%d calls removed %d links, %v; want 1501", calls, sum, err)
	}
	for _, want := range []int{1, 0} {
		if n, err := links.RemoveAll(ctx, links.From("x")); n != want || err != nil {
			t.Errorf("from x: %d, %v, want %d", n, err, want)
		}
	}
	for _, err := range differences(ctx, links, schemas["by time"], nil) {
		t.Error(err)
	}
	if f, err := links.Get(ctx, "1", "y"); f.Whom != "y" || err != nil {
		t.Errorf("a link of others: %v, %v", f, err)
	}
}
