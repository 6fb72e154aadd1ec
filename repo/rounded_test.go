package repo_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

// A guarded value is changed by others, who hold its lock; what is stored of it they leave.
type guarded struct {
	At   time.Time `repo:"at"`
	mu   sync.Mutex
	hits int
}

type shared struct {
	ID    string         `repo:"id"`
	Made  time.Time      `repo:"made"`
	Exact time.Time      `repo:"exact,nanos"`
	Until time.Time      `repo:",expires"`
	One   *guarded       `repo:"one"`
	All   []guarded      `repo:"all"`
	More  map[string]any `repo:",extra"`
}

// A record whose times are as they are stored is read and not changed: several may write it at once,
// and use what it refers to.
func TestRoundedRecordIsNotChanged(t *testing.T) {
	ctx := t.Context()
	r := must[shared](t, repo.NewStore(memory.New(nil), nil), repo.Schema{Collection: "shared", Partition: []string{"id"}})
	at := time.UnixMilli(1e12).UTC()
	next := &guarded{At: at}
	rec := &shared{ID: "a", Made: at, Exact: at, Until: time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC(), One: &guarded{At: at},
		All: make([]guarded, 1), More: map[string]any{"next": next, "list": []any{at, next}}}
	one, all := rec.One, &rec.All[0]
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for range 20 {
				if err := r.Put(ctx, rec); err != nil {
					t.Error(err)
				}
				for _, g := range []*guarded{one, all, next} {
					g.mu.Lock()
					g.hits++
					g.mu.Unlock()
				}
			}
		})
	}
	writers.Wait()
	if rec.One != one || &rec.All[0] != all || rec.More["next"] != any(next) {
		t.Error("the record refers to copies, though no time was to be rounded")
	}
}

// A map says when it expires as a struct does: a time that is too far off is the last there is.
func TestRoundedMapExpires(t *testing.T) {
	ctx := t.Context()
	r := must[map[string]any](t, repo.NewStore(memory.New(nil), nil), repo.Schema{Collection: "maps", Partition: []string{"id"},
		Fields: map[string]string{"id": "string"}})
	for id, until := range map[string]time.Time{
		"far": time.Date(300_000_000, 1, 1, 0, 0, 0, 0, time.UTC), "soon": time.Now().Add(time.Hour),
	} {
		m := map[string]any{"id": id, "_expires": until}
		if err := r.Insert(ctx, &m); err != nil {
			t.Fatal(err)
		}
		got, err := r.Get(ctx, repo.Key{id})
		if diff := cmp.Diff(got, m); diff != "" || err != nil {
			t.Errorf("%s: %v; what is read (-) and what was handed in (+):\n%s", id, err, diff)
		}
	}
}
