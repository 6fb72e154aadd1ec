package backendtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo/driver"
)

const remarkLoad = `workload: remarks
rate: 20
rounds: 2
round: 2s
collections:
  - collection: remarks
    partition: [host]
    sort: [n]
    fields: {host: string, n: int, m: int, text: string}
    indexes:
      - {partition: [host], sort: [-m], covers: ["*"], kind: table}
    data:
      count: 700
      fields: {host: {value: h}, n: {sequence: 1}, m: {int: {min: 1, max: 9999}}, text: {value: text}}
queries:
  - {name: get, weight: 25, kind: get}
  - {name: all, weight: 25, kind: find, where: {host: $}, order: [-m]}
  - {name: new, weight: 25, kind: insert}
  - {name: move, weight: 25, kind: move, add: {m: 1}}
`

// A reading is a store that reads its server's counter whenever the load tool begins and ends
// to measure something, which is when that asks for processor time.
type reading struct {
	driver.Store
	got     func() int
	silent  bool // it does not tell what it sends
	numbers []int
}

func (s *reading) Facts() driver.Facts {
	f := s.Store.Facts()
	f.Tallies = f.Tallies && !s.silent
	return f
}

func (s *reading) CPU(context.Context) (time.Duration, error) {
	s.numbers = append(s.numbers, s.got())
	return 0, nil
}

func (s *reading) Size(ctx context.Context, t *driver.Table) (int64, error) {
	return s.Store.(driver.Sizer).Size(ctx, t)
}

func (s *reading) Close() error { return nil }

// CheckLoad reports what the load tool counts otherwise than the server does. The control is a
// store whose calls are counted.
func (s *Sent) CheckLoad(t *testing.T) {
	t.Helper()
	for _, silent := range []bool{false, true} {
		wrong := s.load(t, silent)
		if (len(wrong) > 0) != silent {
			t.Errorf("requests counted by calls: %v; the server says otherwise: %q", silent, wrong)
		}
	}
}

// load runs a workload, and compares its rounds with the server. What that gets beside, to look at
// the catalog for one, is some requests.
func (s *Sent) load(t *testing.T, silent bool) (wrong []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "remarks.yaml")
	if err := os.WriteFile(file, []byte(remarkLoad), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := loadtest.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	store := &reading{Store: s.Store, silent: silent, got: func() int { n, _ := s.Got(t); return n }}
	open := func(context.Context, string) (driver.Store, error) { return store, nil }
	result, err := loadtest.Run(t.Context(), w, loadtest.Options{Open: open, On: []string{"store:"}})
	if err != nil {
		t.Fatal(err)
	}
	rounds := result.Candidates[0].Rounds
	for i, r := range rounds {
		at := len(store.numbers) - 2*(len(rounds)-i)
		got := store.numbers[at+1] - store.numbers[at]
		beside := 20 + 2*int(r.Took/time.Second)
		if more := got - int(r.Requests); more < 0 || more > beside || r.Trips > r.Requests || r.Unfinished > 0 {
			wrong = append(wrong, fmt.Sprintf("round %d: %d operations (%d cut off), %d trips, %d requests; the server got %d", r.Number, r.Ops, r.Unfinished, r.Trips, r.Requests, got))
		}
	}
	return wrong
}
