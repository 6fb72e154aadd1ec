package loadtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/process"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// toKeep is a small workload with few queries and two models, of which one scans.
var toKeep = testload.Small[:strings.Index(testload.Small, "queries:")] + `queries:
  - {name: one post, weight: 40, kind: get}
  - {name: of a category, weight: 20, kind: find, where: {category: $}, order: [-created], limit: 10}
  - {name: new post, weight: 20, kind: insert}
  - {name: read, weight: 15, kind: update, add: {views: 1}}
  - {name: gone, weight: 5, kind: delete, misses: true}
models:
  - name: covering
  - {name: scan, indexes: [], scan: true}
`

// one is that without its second model.
var one = toKeep[:strings.Index(toKeep, "  - {name: scan")]

// keeping runs a workload on a store that stays, and returns what it logs.
func keeping(t *testing.T, s driver.Store, text string, change func(*Options)) string {
	t.Helper()
	var log bytes.Buffer
	opts := options(s)
	opts.Log = &log
	change(&opts)
	if _, err := Run(t.Context(), mustParse(t, text), opts); err != nil {
		t.Fatal(err)
	}
	return log.String()
}

func keep(o *Options)  { o.Keep = true }
func reuse(o *Options) { o.Reuse = true }

// holds checks what a text has and has not.
func holds(t *testing.T, text string, want, not []string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("there is no %q:\n%s", w, text)
		}
	}
	for _, w := range not {
		if strings.Contains(text, w) {
			t.Errorf("there is %q:\n%s", w, text)
		}
	}
}

// What was kept is not loaded again, and its writes are undone, so that the run after the next takes it as well.
func TestKeptIsReused(t *testing.T) {
	s := lasting{newWatched()}
	holds(t, keeping(t, s, toKeep, keep), []string{"load posts into scan", "kept scan: load_"}, []string{"not for --reuse"})
	tables := len(s.tables)
	for range 2 {
		holds(t, keeping(t, s, toKeep, reuse), []string{"reuse covering, loaded on ", "reuse scan, ", "kept scan: load_"}, []string{"load posts", "anew", "not for --reuse"})
	}
	holds(t, cleaned(t, s, false), []string{"kept: run load_", "2 collections; polystore load --clean --kept"}, []string{"removed"})
	if len(s.tables) != tables {
		t.Errorf("%d tables and not %d", len(s.tables), tables)
	}
	holds(t, cleaned(t, s, true), []string{"removed: what run load_"}, nil)
	if len(s.tables) != 0 {
		t.Errorf("left: %v", s.tables)
	}
}

func cleaned(t *testing.T, s driver.Store, all bool) string {
	t.Helper()
	var told []string
	opts := options(s)
	opts.Kept = all
	if err := Clean(t.Context(), opts, func(text string) { told = append(told, text) }); err != nil {
		t.Fatal(err)
	}
	return strings.Join(told, "\n")
}

// What does not fit is told with the reason, and loaded anew.
func TestKeptThatDoesNotFit(t *testing.T) {
	s := lasting{newWatched()}
	keeping(t, s, toKeep, keep)
	tables := len(s.tables)
	scan := "{name: scan, indexes: [], scan: true}"
	for name, x := range map[string]struct{ old, new, reason string }{
		"seed":    {"seed: 3", "seed: 4", "it was loaded with seed 3, and this is 4"},
		"records": {"count: 200", "count: 199", "it has 200 posts, and these are 199 posts"},
		"data":    {"max: 50", "max: 60", "it has other records"},
		"index":   {"indexes: [], scan: true", "indexes: [{partition: [category], sort: [views]}], scan: true", "the model keeps its collections in another way now"},
		"model":   {"name: scan", "name: other", "load other anew: no run kept it"},
	} {
		log := keeping(t, s, strings.Replace(toKeep, x.old, x.new, 1), reuse)
		holds(t, log, []string{x.reason, "load posts into "}, nil)
		if strings.Contains(scan, x.old) != strings.Contains(log, "reuse covering") {
			t.Errorf("%s: what is reused of the others is wrong:\n%s", name, log)
		}
	}
	if len(s.tables) != tables {
		t.Errorf("%d tables and not %d: what was loaded anew is not removed", len(s.tables), tables)
	}
}

// keptOf returns what the store says of the first candidate that was kept, and the store.
func keptOf(t *testing.T, s driver.Store) (*store.Store, store.Kept) {
	t.Helper()
	st, err := store.Open(t.Context(), "made:", "made:", options(s).Open)
	if err != nil {
		t.Fatal(err)
	}
	list, err := st.Kept(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatalf("%d were kept: %v", len(list), err)
	}
	return st, list[len(list)-1]
}

// Nothing is taken that is not as it was loaded, or of which nobody knows.
func TestKeptThatIsNotAsLoaded(t *testing.T) {
	for reason, spoil := range map[string]func(*testing.T, *store.Store, store.Kept){
		"its records are not those that were loaded": func(t *testing.T, s *store.Store, k store.Kept) {
			r := opened1(t, s, k.Space+"posts")
			if err := r.Delete(t.Context(), firstKey(t, r)); err != nil {
				t.Fatal(err)
			}
		},
		"a newer program kept it": func(t *testing.T, s *store.Store, k store.Kept) {
			r := opened1(t, s, k.Run+store.KeptSuffix)
			if _, err := r.Patch(t.Context(), repo.Key{k.Run, k.Space}, repo.Add("format", int64(1))); err != nil {
				t.Fatal(err)
			}
		},
		"is at work": func(t *testing.T, s *store.Store, k store.Kept) {
			tagged(t, s, k.Run, os.Getppid(), process.Mark(os.Getppid()))
		},
		"and did not put that back": func(t *testing.T, s *store.Store, k store.Kept) {
			k.Whole = false
			if err := s.Keep(t.Context(), &k); err != nil {
				t.Fatal(err)
			}
		},
	} {
		s := lasting{newWatched()}
		text := one
		keeping(t, s, text, keep)
		st, k := keptOf(t, s)
		spoil(t, st, k)
		holds(t, keeping(t, s, text, reuse), []string{"load covering anew: what run " + k.Run + " kept does not fit: ", reason, "load posts into covering"}, nil)
	}
}

func opened1(t *testing.T, s *store.Store, name string) *repo.Repo[map[string]any] {
	t.Helper()
	schema, err := repo.SchemaOf(t.Context(), s.Repo, name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := repo.Open[map[string]any](t.Context(), s.Repo, schema)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func firstKey(t *testing.T, r *repo.Repo[map[string]any]) repo.Key {
	t.Helper()
	for chunk, err := range r.Walk(t.Context(), "") {
		if err == nil && len(chunk.Items) > 0 {
			return repo.Key{chunk.Items[0]["author"], chunk.Items[0]["id"]}
		}
	}
	t.Fatal("there is no record")
	return nil
}

// tagged says that a run is of a process of this machine.
func tagged(t *testing.T, s *store.Store, run string, pid int, mark string) {
	t.Helper()
	r, err := repo.Open[map[string]any](t.Context(), s.Repo, store.TagSchema(run+store.TagSuffix))
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	if err := r.Put(t.Context(), &map[string]any{"run": run, "host": host, "process": int64(pid), "mark": mark, "began": time.Now()}); err != nil {
		t.Fatal(err)
	}
}

// A run that is killed leaves what it used: that is taken again, and not cleaned away, if the run did not write to it.
func TestKilledRunOnWhatWasKept(t *testing.T) {
	s := lasting{newWatched()}
	text := one
	keeping(t, s, text, keep)
	st, k := keptOf(t, s)
	tagged(t, st, k.Run, gone, "")
	holds(t, keeping(t, s, text, reuse), []string{"reuse covering"}, []string{"load posts"})
	tagged(t, st, k.Run, gone, "")
	holds(t, cleaned(t, s, false), []string{"removed: run " + k.Run, "kept: run " + k.Run}, []string{"posts"})
	holds(t, keeping(t, s, text, reuse), []string{"reuse covering"}, []string{"load posts"})
	tagged(t, st, k.Run, gone, "")
	k.Whole = false
	if err := st.Keep(t.Context(), &k); err != nil {
		t.Fatal(err)
	}
	holds(t, cleaned(t, s, false), []string{"removed: run " + k.Run, k.Space + "posts"}, []string{"kept: run"})
	if len(s.tables) != 0 {
		t.Errorf("left: %v", s.tables)
	}
}

// A run that was killed while it loaded has kept nothing.
func TestKilledWhileLoading(t *testing.T) {
	s := lasting{newWatched()}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	left(t, s, store.Leftover{Host: host, Process: gone, Began: time.Now()})
	holds(t, keeping(t, s, toKeep, reuse), []string{"load covering anew: no run kept it", "which was killed"}, nil)
}

// A lost store cannot be written to after some commits.
type lostWriter struct {
	lasting
	commits *atomic.Int64
}

func (s lostWriter) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if s.commits.Add(-1) < 0 {
		return nil, driver.ErrUnavailable
	}
	return s.lasting.Commit(ctx, token, ops)
}

// What could not be put back is not taken later.
func TestLostBeforeAllIsPutBack(t *testing.T) {
	s, text, commits := lasting{newWatched()}, one, new(atomic.Int64)
	keeping(t, s, text, keep)
	commits.Store(limit.SampledWrites)
	opts := options(lostWriter{s, commits})
	opts.Reuse = true
	if _, err := Run(t.Context(), mustParse(t, text), opts); !errors.Is(err, driver.ErrUnavailable) {
		t.Fatalf("%v", err)
	}
	holds(t, keeping(t, s, text, reuse), []string{"a run wrote to it, and did not put that back", "load posts"}, nil)
}

// Trees that were written to are not put back, and nobody takes them later.
func TestKeptTrees(t *testing.T) {
	s, text := lasting{newWatched()}, testload.Forest(t)
	text = text[:strings.Index(text, "  - {name: adjacency}")]
	holds(t, keeping(t, s, text, keep), []string{"(not for --reuse: trees that were written to are not put back)"}, nil)
	holds(t, keeping(t, s, text, reuse), []string{"did not put that back"}, nil)
	from, to := strings.Index(text, "  - {name: new,"), strings.Index(text, "models:")
	reads := strings.Replace(text[:from]+text[to:], "weight: 10, kind: get", "weight: 50, kind: get", 1)
	holds(t, keeping(t, s, reads, keep), []string{"kept path: "}, []string{"not for --reuse"})
	holds(t, keeping(t, s, reads, reuse), []string{"reuse path"}, []string{"load files"})
}
