package loadtest

import (
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/driver"
)

// coreWorkloads are the workloads of YCSB as published: percentages, the distribution of requests, and the longest scan.
var coreWorkloads = map[string]struct {
	read, update, insert, scan, modify float64
	draw                               string
	scanned                            int
}{
	"a": {50, 50, 0, 0, 0, "scrambled", 0},
	"b": {95, 5, 0, 0, 0, "scrambled", 0},
	"c": {100, 0, 0, 0, 0, "scrambled", 0},
	"d": {95, 0, 5, 0, 0, "latest", 0},
	"e": {0, 0, 5, 95, 0, "scrambled", 100},
	"f": {50, 0, 0, 0, 50, "scrambled", 0},
}

// readYCSB returns a shipped workload with fewer records, and other text in place of some.
func readYCSB(t *testing.T, name string, replace ...string) *workload.Workload {
	t.Helper()
	file := "../examples/ycsb/" + name + ".yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Parse(file, []byte(strings.NewReplacer(append(replace, "count: 20000", "count: 1000")...).Replace(string(text))))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The shipped workloads say what YCSB's core workloads say.
func TestYCSBAsPublished(t *testing.T) {
	for name, want := range coreWorkloads {
		w := readYCSB(t, name)
		percent := map[string]float64{"get": want.read, "update": want.update, "insert": want.insert, "find": want.scan, "modify": want.modify}
		for _, q := range w.Queries {
			if q.Weight != percent[q.Kind] {
				t.Errorf("%s: %v %% %s, want %v", name, q.Weight, q.Kind, percent[q.Kind])
			}
			delete(percent, q.Kind)
			if q.Kind != "insert" && q.Draw.Way != want.draw {
				t.Errorf("%s: %s draws %s, want %s", name, q.Name, q.Draw.Way, want.draw)
			}
			if q.Draw.Way == "latest" && q.Draw.Skew != 0.99 {
				t.Errorf("%s: the exponent is %v, want 0.99", name, q.Draw.Skew)
			}
			if q.Kind == "find" && (q.Least != 1 || q.Limit != want.scanned) {
				t.Errorf("%s: scans of %d to %d records, want 1 to %d", name, q.Least, q.Limit, want.scanned)
			}
			if changes := q.Kind == "update" || q.Kind == "modify"; changes && (!q.One || len(q.Set) != 10) {
				t.Errorf("%s: %s sets %d fields, one of them: %t; want one of 10", name, q.Name, len(q.Set), q.One)
			}
		}
		for kind, rest := range percent {
			if rest != 0 {
				t.Errorf("%s: there is no %s, want %v %%", name, kind, rest)
			}
		}
		checkRecords(t, w)
	}
}

// checkRecords sees that records have a key and ten fields of a hundred bytes.
func checkRecords(t *testing.T, w *workload.Workload) {
	t.Helper()
	keys := []string{"user6284781860667377211", "user8517097267634966620", "user1820151046732198393"}
	maker := data.NewMaker(w, w.Collections[0], nil)
	for i, key := range keys {
		rec := maker.Record(i)
		if rec["key"] != key || len(rec) != 11 {
			t.Errorf("%s: record %d has key %v and %d fields, want %s and 11", w.Name, i, rec["key"], len(rec), key)
		}
		for f := range 10 {
			if b, _ := rec[fmt.Sprintf("field%d", f)].([]byte); len(b) != 100 {
				t.Errorf("%s: field%d has %d bytes, want 100", w.Name, f, len(b))
			}
		}
	}
}

// A tally counts what a store is asked of records, and how often the most frequent key is read.
type tally struct {
	driver.Store
	mu                             sync.Mutex
	gets, ranges, changes, inserts int
	keys                           map[string]int
}

func (s *tally) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if t.Class == driver.Records {
		s.mu.Lock()
		s.gets++
		s.keys[fmt.Sprint(keys[0])]++
		s.mu.Unlock()
	}
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s *tally) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	s.mu.Lock()
	s.ranges++
	s.mu.Unlock()
	return s.Store.Range(ctx, span)
}

func (s *tally) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range ops {
		switch {
		case ops[i].Table.Class != driver.Records:
		case ops[i].If == driver.Absent:
			s.inserts++
		default:
			s.changes++
		}
	}
	return s.Store.Commit(ctx, token, ops)
}

// filled returns a candidate of the first model of a workload, on a store, and the operations.
func filled(t *testing.T, w *workload.Workload, on driver.Store) (*candidate.Candidate, *operation.Stream) {
	t.Helper()
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := operation.NewStream(w, tables)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), "memory:", "memory:", func(context.Context, string) (driver.Store, error) { return on, nil })
	if err != nil {
		t.Fatal(err)
	}
	c := candidate.New(w, st, w.Models[0], "")
	if err := c.Open(t.Context(), w, "load_x_1_"); err != nil {
		t.Fatal(err)
	}
	if err := c.Fill(t.Context(), w, tables, nil).Rest(); err != nil {
		t.Fatal(err)
	}
	c.Plan(w, func(at int) operation.Call { return s.Only(at, 1, 0)[0] })
	return c, s
}

// sent does n operations of a workload on its first model, and returns what the store was asked.
func sent(t *testing.T, w *workload.Workload, n int) *tally {
	t.Helper()
	counted := &tally{Store: newWatched(), keys: map[string]int{}}
	c, s := filled(t, w, counted)
	*counted = tally{Store: counted.Store, keys: map[string]int{}}
	for _, k := range s.Mixed("round 1", n, 0) {
		if _, err := c.Do(t.Context(), &k, false); err != nil {
			t.Fatalf("%s: %s: %v", w.Name, &k, err)
		}
	}
	return counted
}

// near reports whether a count is that of a share of n draws, give or take five standard deviations.
func near(count, n int, percent float64) bool {
	p := percent / 100
	return math.Abs(float64(count)-p*float64(n)) <= 5*math.Sqrt(p*(1-p)*float64(n))
}

// differs says what of the operations that a store got is not as published.
func differs(name string, s *tally, n int) string {
	want := coreWorkloads[name]
	changes := want.update + want.modify
	switch {
	case !near(s.gets, n, want.read+changes):
		return fmt.Sprintf("%d reads of %d", s.gets, n)
	case !near(s.changes, n, changes):
		return fmt.Sprintf("%d changes of %d", s.changes, n)
	case !near(s.inserts, n, want.insert):
		return fmt.Sprintf("%d inserts of %d", s.inserts, n)
	case want.scan > 0 && s.ranges < n/2, want.scan == 0 && s.ranges > 0:
		return fmt.Sprintf("%d ranges of %d", s.ranges, n)
	}
	return ""
}

// What is sent has the proportions of the published workloads; the most frequent key has 3.8 % of the reads, of latest
// one in 7.5, spread over the records that are the newest in turn.
func TestYCSBAsSent(t *testing.T) {
	const n = 20_000
	for name, want := range coreWorkloads {
		ops := n
		if want.scan > 0 {
			ops = n / 10 // each of them reads eight ranges
		}
		s := sent(t, readYCSB(t, name), ops)
		if text := differs(name, s, ops); text != "" {
			t.Errorf("%s: the store got %s", name, text)
		}
		most := 0
		for _, count := range s.keys {
			most = max(most, count)
		}
		if share := float64(most) / float64(max(s.gets, 1)); s.gets > 0 && want.draw == "scrambled" && (share < 0.034 || share > 0.046) {
			t.Errorf("%s: the most frequent key has %.4f of the reads, want 0.038", name, share)
		}
	}
	for _, planted := range [][]string{{"a", "weight: 50\n    kind: update", "weight: 53\n    kind: update", "weight: 50", "weight: 47"}, {"d", "weight: 95", "weight: 94", "weight: 5,", "weight: 6,"}} {
		s := sent(t, readYCSB(t, planted[0], planted[1:]...), n)
		if text := differs(planted[0], s, n); text == "" {
			t.Errorf("%q is not found out", planted)
		}
	}
}
