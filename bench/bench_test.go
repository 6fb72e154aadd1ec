package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
)

// Candidates that only tests have: one that is slow and one that lies.
const (
	slowName = "slow"
	liarName = "liar"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0") // of the processes that tests start: each would end a second later
		os.Exit(m.Run())
	}
	if err := serve(os.Stdin, os.Stdout, []candidate{{name: slowName, open: openSlow}, {name: liarName, open: openLiar}}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A slow floor computes something for about 100 µs in each call.
type slow struct{ posts }

func openSlow(at place, covering bool) (posts, error) {
	p, err := openPlain(at, covering)
	return slow{p}, err
}

func (s slow) get(ctx context.Context, k key) (post, error) {
	sum := sha256.Sum256([]byte(k.id))
	for range 1000 {
		sum = sha256.Sum256(sum[:])
	}
	p, err := s.posts.get(ctx, k)
	p.Version[15] = sum[0]
	return p, err
}

// A liar changes what it read of posts that the check has not.
type liar struct{ posts }

func openLiar(at place, covering bool) (posts, error) {
	p, err := openPlain(at, covering)
	return liar{p}, err
}

func (l liar) get(ctx context.Context, k key) (post, error) {
	p, err := l.posts.get(ctx, k)
	if k.id == postID(checkPosts+7) {
		p.Views++
	}
	return p, err
}

func smallRun(t *testing.T, s setting, names ...string) *run {
	r := &run{setting: s, ops: operations, scale: quickScale(&s), dir: t.TempDir(), samples: map[string]map[string][]sample{}, seed: 1}
	for _, name := range names {
		r.candidates = append(r.candidates, candidate{name: name})
	}
	return r
}

// The whole command, on everything, as -quick does it.
func TestQuick(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "result.json")
	var out, progress bytes.Buffer
	args := []string{"-quick", "-rounds", "1", "-dir", dir, "-json", file}
	for name := range kinds {
		args = append(args, "-"+name, urlOf(t, name))
	}
	err := bench(t.Context(), args, &out, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	mustBeEmpty(t, dir)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for i, s := range got.Settings {
		if want := len(bounds(settings[i])); len(s.Lines) != want {
			t.Errorf("%s: %d lines, want %d", s.Setting.Name, len(s.Lines), want)
		}
		for _, l := range s.Lines {
			if asked := l.Asked[0] > 0 && l.Asked[1] > 0; asked != (serverOf(s.Setting.Store).size != nil) {
				t.Errorf("%s: %v requests of %s, which are counted: %v", s.Setting.Name, l.Asked, l.Op, asked)
			}
			if l.P50Micros[0] <= 0 || l.CPUMicros[1] <= 0 || l.Counts[0] <= 0 || (l.Verdict == "") != (l.Most == 0) {
				t.Errorf("%s: something was not measured or judged: %+v", s.Setting.Name, l)
			}
		}
		if s.Setting.Store != "" && serverOf(s.Setting.Store).size != nil {
			for _, c := range s.Setting.candidates() {
				if n := s.Sizes[c.name]; n < 200 || n > 5000 {
					t.Errorf("%s: a record of %s takes %.0f bytes: nobody measured it", s.Setting.Name, c.name, n)
				}
			}
		}
		for op, byName := range s.Samples {
			for _, c := range s.Setting.candidates() {
				if len(byName[c.name]) != 1 {
					t.Errorf("%s: %d samples of %s by %s, want 1", s.Setting.Name, len(byName[c.name]), op, c.name)
				}
			}
		}
	}
	if len(got.Settings) != len(settings) || !strings.Contains(out.String(), "newest20") {
		t.Errorf("%d settings, want %d, in\n%s", len(got.Settings), len(settings), &out)
	}
}

func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A candidate that is many times slower must be seen to be, and the floor itself must
// not, however noisy the machine is. Whether a noisy run tells anything is judged too
// (TestVerdict), so that a verdict may be "noisy" here but never the wrong one.
func TestSlowCandidateMisses(t *testing.T) {
	r := smallRun(t, settings[0], floorName, floorAgainName, slowName)
	r.ops = []string{opGet}
	for i := range 3 {
		if err := r.round(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	l := judge(bound{Op: opGet, Name: slowName, Against: floorName, Most: 2, Allocs: 2}, r.samples[opGet])
	if l.P50.Low <= 2 || l.Time.Low <= 2 || l.Verdict == met {
		t.Errorf("slow: %s, want both over 2 and not met: p50 %s of %s, CPU %s of %s", l.text(), l.P50, l.SameP, l.Time, l.SameC)
	}
	l = judge(bound{Op: opGet, Name: floorAgainName, Against: floorName, Most: 2, Allocs: 2}, r.samples[opGet])
	if l.P50.Low > 2 || l.Time.Low > 2 || l.Verdict == missed {
		t.Errorf("floor again: %s, want neither over 2 and not missed: p50 %s, CPU %s", l.text(), l.P50, l.Time)
	}
}

func TestLiarIsFound(t *testing.T) {
	r := smallRun(t, settings[0], floorName, liarName)
	err := r.round(t.Context(), 0)
	if err == nil || !strings.Contains(err.Error(), "different") {
		t.Errorf("round with a candidate that answers wrongly: error %v, want one that says so", err)
	}
	mustBeEmpty(t, r.dir)
}

func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	began := time.Now()
	var out, progress bytes.Buffer
	err := bench(ctx, []string{"-dir", dir}, &out, &progress)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("interrupted: error %v, want %v", err, context.DeadlineExceeded)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v to end", took)
	}
	mustBeEmpty(t, dir)
}

func TestFlags(t *testing.T) {
	for _, args := range []string{"-only everything", "-rounds -1", "surplus", "-unknown"} {
		var out, progress bytes.Buffer
		if err := bench(t.Context(), strings.Fields(args), &out, &progress); err == nil {
			t.Errorf("bench %s: no error", args)
		}
	}
	o := options{only: "fsync,get,mix"}
	picked, ops, err := o.pick()
	if err != nil || len(picked) != 1 || !picked[0].Sync || cmp.Diff([]string{opGet, opMix}, ops) != "" {
		t.Errorf("-only %s: %v, %v, %v", o.only, picked, ops, err)
	}
}

// The floor must run with the options that the backend gives Pebble, or the ratio
// would be of the options, too.
func TestFloorHasOptionsOfBackend(t *testing.T) {
	byHand := pebbleOptionsOf(t, openPlain)
	if diff := cmp.Diff(pebbleOptionsOf(t, openOurs), byHand); diff != "" {
		t.Errorf("options of the floor (-backend +floor):\n%s", diff)
	}
	if !strings.Contains(strings.Join(byHand, "\n"), "mem_table_size=") {
		t.Errorf("no options in %q", byHand)
	}
}

// pebbleOptionsOf returns the lines of the file in which Pebble notes its options.
func pebbleOptionsOf(t *testing.T, open func(place, bool) (posts, error)) []string {
	t.Helper()
	dir := t.TempDir()
	p, err := open(place{dir: dir, sync: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files of options: %v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(data), "\n")
}

// Each candidate passes the check, and each way to be wrong is found by it.
func TestCheck(t *testing.T) {
	for _, store := range []string{"", redisName} { // the processes of the others check themselves in TestQuick
		for _, c := range serverOf(store).candidates {
			if err := check(t.Context(), opened(t, store, c), c.local, effortOn(store), 1); err != nil {
				t.Errorf("%s on %q: %v", c.name, store, err)
			}
		}
	}
	faults := map[string]func(posts) posts{
		"inserts over a post":       func(p posts) posts { return overwriter{p} },
		"ignores versions":          func(p posts) posts { return versionless{p} },
		"deletes nothing":           func(p posts) posts { return keeper{p} },
		"lists the oldest first":    func(p posts) posts { return reverser{p} },
		"forgets one of a category": func(p posts) posts { return forgetter{p} },
		"reads, then writes":        func(p posts) posts { return racer{p} },
	}
	for name, fault := range faults {
		if err := check(t.Context(), fault(opened(t, "", onPebble[0])), false, effortOn(""), 1); err == nil {
			t.Errorf("a candidate that %s passed", name)
		}
	}
}

// kinds are the servers of tests, by the names of the stores.
var kinds = map[string]testserver.Store{redisName: testserver.Redis, mongoName: testserver.Mongo, cassandraName: testserver.Cassandra}

// urlOf returns where the server of a store is, "" of Pebble.
func urlOf(t *testing.T, store string) string {
	t.Helper()
	kind, ok := kinds[store]
	if !ok {
		return ""
	}
	return testserver.Shared(t, kind).URL
}

func opened(t *testing.T, store string, c candidate) posts {
	t.Helper()
	at := place{dir: t.TempDir(), url: urlOf(t, store)}
	p, err := c.open(at, c.covering)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.close(), serverOf(store).wipe(context.WithoutCancel(t.Context()), at.url, at.prefix())); err != nil {
			t.Error(err)
		}
	})
	return p
}

type overwriter struct{ posts }

func (o overwriter) insert(ctx context.Context, p *post) error {
	if err := o.delete(ctx, p.key()); err != nil {
		return err
	}
	return o.posts.insert(ctx, p)
}

type versionless struct{ posts }

func (v versionless) update(ctx context.Context, k key, _ repo.Version, change func(*post) error) (post, error) {
	return v.posts.update(ctx, k, repo.Version{}, change)
}

type keeper struct{ posts }

func (keeper) delete(context.Context, key) error { return nil }

type reverser struct{ posts }

func (r reverser) byAuthor(ctx context.Context, author string, n int) ([]post, error) {
	list, err := r.posts.byAuthor(ctx, author, n)
	for i := range len(list) / 2 {
		list[i], list[len(list)-1-i] = list[len(list)-1-i], list[i]
	}
	return list, err
}

type forgetter struct{ posts }

func (f forgetter) byCategory(ctx context.Context, author, category string, n int) ([]post, error) {
	list, err := f.posts.byCategory(ctx, author, category, n)
	return list[:max(len(list)-1, 0)], err
}

// A racer updates without any care for others.
type racer struct{ posts }

func (r racer) update(ctx context.Context, k key, version repo.Version, change func(*post) error) (post, error) {
	p, err := r.get(ctx, k)
	if err != nil {
		return p, err
	}
	time.Sleep(time.Millisecond)
	if !version.IsZero() && p.Version != version {
		return p, repo.ErrConflict
	}
	if err := change(&p); err != nil {
		return p, err
	}
	return r.posts.update(ctx, k, repo.Version{}, func(there *post) error { *there = p; return nil })
}
