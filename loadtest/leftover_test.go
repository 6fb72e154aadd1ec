package loadtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/process"
	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A lasting store is not closed by those that use it.
type lasting struct{ *watched }

func (lasting) Close() error { return nil }

// left makes what a run leaves that is killed, and returns how its names begin.
func left(t *testing.T, s lasting, of store.Leftover) string {
	t.Helper()
	w, run := mustParse(t, testload.Small).read, store.Namespace()
	st, err := store.Open(t.Context(), "made:", "made:", options(s).Open)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Tag(t.Context(), run, of.Began); err != nil {
		t.Fatal(err)
	}
	r, err := repo.Open[map[string]any](t.Context(), st.Repo, store.TagSchema(st.Tagged))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(t.Context(), &map[string]any{"run": run, "host": of.Host, "process": of.Process, "mark": of.Mark, "began": of.Began}); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if err := candidate.New(w, st, w.Models[n], "").Open(t.Context(), w, store.CandidateSpace(run, n)); err != nil {
			t.Fatal(err)
		}
	}
	return run
}

// somebodys makes collections whose names look like those of a run, and that none made.
func somebodys(t *testing.T, s lasting) []string {
	t.Helper()
	store := repo.NewStore(s, nil)
	names := []string{"load_run", "load_aaaaaaaaaa_run", "load_aaaaaaaaaa00_posts", "load_bbbbbbbbbb00_posts", "posts"}
	for _, name := range names {
		if _, err := repo.Open[map[string]any](t.Context(), store, repo.Schema{Collection: name, Partition: []string{"run"}, Fields: map[string]string{"run": "string"}}); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

const gone = 1 << 30 // the number of no process

// What a killed run left is named when the next one begins, and removed by Clean: that, and nothing
// else. A run that may be at work is left alone.
func TestLeftovers(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s, now := lasting{newWatched()}, time.Now()
	others := somebodys(t, s)
	before := len(s.tables)
	killed := left(t, s, store.Leftover{Host: host, Process: gone, Began: now})
	old := left(t, s, store.Leftover{Host: "elsewhere", Process: gone, Began: now.Add(-2 * limit.LongestRun)})
	atWork := left(t, s, store.Leftover{Host: host, Process: os.Getppid(), Mark: process.Mark(os.Getppid()), Began: now})
	remote := left(t, s, store.Leftover{Host: "elsewhere", Process: gone, Began: now})
	var log bytes.Buffer
	opts := options(s)
	opts.Log = &log
	if _, err := Run(t.Context(), mustParse(t, testload.Small), opts); err != nil {
		t.Fatal(err)
	}
	for run, want := range map[string]string{
		killed: "note: memory: has 3 collections of run %s of " + now.Format("2006-01-02 15:04") + " on " + host + ", which was killed; polystore load --clean memory: removes them",
		old:    "note: memory: has 3 collections of run %s of ",
		atWork: "note: run %s of ", remote: "note: run %s of ",
	} {
		if !strings.Contains(log.String(), fmt.Sprintf(want, run)) {
			t.Errorf("the log has no %q", fmt.Sprintf(want, run))
		}
	}
	if strings.Count(log.String(), "note: ") != 4 || t.Failed() {
		t.Errorf("the log is\n%s", &log)
	}
	said := clean(t, s)
	for run, removed := range map[string]bool{killed: true, old: true, atWork: false, remote: false} {
		for name := range s.tables {
			if removed && strings.HasPrefix(name, run) {
				t.Errorf("%s is left", name)
			}
		}
		if removed != strings.Contains(said, "removed: run "+run) || removed == strings.Contains(said, "left alone: run "+run) {
			t.Errorf("removed %s: want %v:\n%s", run, removed, said)
		}
	}
	if want := killed + "00_posts, " + killed + "01_posts, " + killed + "_run\n"; !strings.Contains(said, want) {
		t.Errorf("it is not said that %s was removed:\n%s", want, said)
	}
	for _, name := range others {
		if !s.tables[name] || strings.Contains(said, " "+name) {
			t.Errorf("%s was removed, and no run had made it:\n%s", name, said)
		}
	}
	if perRun := 1 + 3 + 3; len(s.tables) != before+2*perRun {
		t.Errorf("%d tables, want %d: %v", len(s.tables), before+2*perRun, s.tables)
	}
}

// clean cleans the store and returns what is said.
func clean(t *testing.T, s driver.Store) string {
	t.Helper()
	var said strings.Builder
	if err := Clean(t.Context(), options(s), func(text string) { said.WriteString(text + "\n") }); err != nil {
		t.Fatal(err)
	}
	return said.String()
}

// A patient store says how long the drops may take.
type patient struct {
	lasting
	times chan time.Duration
}

func (p patient) Drop(ctx context.Context, tables []*driver.Table) error {
	end, _ := ctx.Deadline()
	p.times <- time.Until(end)
	return p.lasting.Drop(ctx, tables)
}

// On MongoDB a drop waits for the transactions of a killed program, a minute at most.
func TestCleanIsPatient(t *testing.T) {
	s := patient{lasting{newWatched()}, make(chan time.Duration, 10)}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	left(t, s.lasting, store.Leftover{Host: host, Process: gone, Began: time.Now()})
	clean(t, s)
	close(s.times)
	n := 0
	for left := range s.times {
		if n++; left < 2*time.Minute {
			t.Errorf("a drop has %v", left)
		}
	}
	if n != 3 {
		t.Errorf("%d drops, want 3", n)
	}
}

// A gathering store drops no table before two drops are under way.
type gathering struct {
	lasting
	begun *atomic.Int32
	two   chan struct{}
}

func (g gathering) Drop(ctx context.Context, tables []*driver.Table) error {
	if g.begun.Add(1) == 2 {
		close(g.two)
	}
	select {
	case <-g.two:
	case <-ctx.Done():
		return ctx.Err()
	}
	return g.lasting.Drop(ctx, tables)
}

// Each drop takes some seconds on most stores, so the collections of a run are dropped at once.
func TestDropsAtOnce(t *testing.T) {
	s := gathering{lasting{newWatched()}, new(atomic.Int32), make(chan struct{})}
	if _, err := Run(t.Context(), mustParse(t, testload.Small), options(s)); err != nil {
		t.Error(err)
	}
	s = gathering{s.lasting, new(atomic.Int32), make(chan struct{})}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	left(t, s.lasting, store.Leftover{Host: host, Process: gone, Began: time.Now()})
	clean(t, s)
	if len(s.tables) > 0 {
		t.Errorf("tables %v are left", s.tables)
	}
}

// A run that is killed at any table that it makes leaves nothing that Clean does not find.
func TestLeftoversOfARunThatWasKilledWhileItOpens(t *testing.T) {
	for n := 1; n <= 8; n++ {
		s := lasting{newWatched()}
		st, err := store.Open(t.Context(), "made:", "made:", func(context.Context, string) (driver.Store, error) { return &killing{lasting: s, left: n}, nil })
		if err != nil {
			t.Fatal(err)
		}
		w, run := mustParse(t, testload.Small).read, store.Namespace()
		if st.Tag(t.Context(), run, time.Now()) == nil {
			_ = candidate.New(w, st, w.Models[0], "").Open(t.Context(), w, store.CandidateSpace(run, 0)) // until it is killed
		}
		if names, err := repo.Collections(t.Context(), repo.NewStore(s, nil)); err != nil || n > 4 && len(names) == 0 {
			t.Fatalf("killed at call %d: %v, %v", n, names, err)
		}
		asIfOver(t, s, run)
		clean(t, s)
		if len(s.tables) > 0 {
			t.Errorf("killed at call %d: tables %v are left", n, s.tables)
		}
	}
}

// asIfOver makes the tag of a run, if it has a record, that of a process that is gone.
func asIfOver(t *testing.T, s lasting, run string) {
	t.Helper()
	in := repo.NewStore(s, nil)
	if _, err := repo.SchemaOf(t.Context(), in, run+store.TagSuffix); err != nil {
		return
	}
	r, err := repo.Open[map[string]any](t.Context(), in, store.TagSchema(run+store.TagSuffix), repo.WithoutDefine())
	if err != nil {
		return
	}
	_, _ = r.Patch(t.Context(), repo.Key{run}, repo.Set("process", gone)) // if it is there
}

// A killing store does nothing any more after so many calls.
type killing struct {
	lasting
	left int
}

func (s *killing) Define(ctx context.Context, tables []*driver.Table) error {
	if s.left--; s.left < 0 {
		return driver.ErrUnavailable
	}
	return s.lasting.Define(ctx, tables)
}

func (s *killing) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if s.left--; s.left < 0 {
		return nil, driver.ErrUnavailable
	}
	return s.lasting.Commit(ctx, token, ops)
}
