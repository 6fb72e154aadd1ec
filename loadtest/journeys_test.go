package loadtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/driver"
)

// shop is the shipped workload, made short, or another one that is made of it.
func shop(t *testing.T, changes ...string) (*workload.Workload, error) {
	t.Helper()
	return shipped(t, "shop", append([]string{"rounds: 6", "rounds: 1", "round: 2s", "round: 500ms", "count: 10000", "count: 200", "count: 5000", "count: 100", "max: 40", "max: 4"}, changes...)...)
}

// Each step of a journey is for what the one before found, as often as its chance says.
func TestJourneys(t *testing.T) {
	w, err := shop(t)
	if err != nil {
		t.Fatal(err)
	}
	c, s := filled(t, w, newWatched())
	const n = 3000
	done := make([]int, 4)
	for _, k := range s.Only(0, n, 0) {
		a, err := c.Do(t.Context(), &k, true)
		if err != nil || len(a.Steps) != len(k.Parts) {
			t.Fatalf("%s: %d steps of %d, %v", &k, len(a.Steps), len(k.Parts), err)
		}
		for i := range a.Steps {
			done[i]++
		}
		if len(a.Steps) == 1 {
			continue
		}
		product, page := a.Records[len(a.Records)-1], map[string]bool{}
		for _, rec := range a.Records[:len(a.Records)-1] {
			page[value.Canonical(rec)] = true
		}
		if a.N != len(page)+len(a.Steps)-1 || !page[value.Canonical(product)] {
			t.Fatalf("%s: of %d records, %v was not on the page", &k, a.N, product)
		}
	}
	for i, percent := range []float64{100, 70, 21, 21} {
		if !near(done[i], n, percent) {
			t.Errorf("%d of %d journeys had step %d, want %v %%", done[i], n, i+1, percent)
		}
	}
}

// The time of a journey is told, and that of each of its steps.
func TestJourneysAreMeasured(t *testing.T) {
	w, err := shop(t)
	if err != nil {
		t.Fatal(err)
	}
	s := newWatched()
	result, err := Run(t.Context(), opened(w), options(s))
	if err != nil {
		t.Fatal(err)
	}
	s.check(t)
	checkReport(t, result)
	for _, c := range result.Candidates {
		calls, rounds := map[string]int64{}, map[string]int64{}
		for i, q := range c.Queries {
			calls[q.Name], rounds[q.Name] = q.Calls, c.Rounds[0].Queries[i].Calls
		}
		if c.Failures > 0 || calls["visit"]+calls["cart"] != 100 || calls["page of a category"] != calls["visit"] || calls["product"] == 0 || calls["product"] >= calls["visit"] {
			t.Errorf("%s: calls %v, %d failures, the first: %s", c.Name, calls, c.Failures, c.Failure)
		}
		if fmt.Sprint(calls) != fmt.Sprint(rounds) {
			t.Errorf("%s: the round has the calls %v, and all rounds %v", c.Name, rounds, calls)
		}
	}
}

// A model in which a step of journeys goes wrong is found out.
func TestJourneysThatDiffer(t *testing.T) {
	w, err := shop(t, "{query: product, chance: 0.7, take: found}, {query: reserve, chance: 0.3, take: found}, {query: into the cart}", "{query: product, take: found}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = runWith(t, opened(w), newWatched(), &mistaken{watched: newWatched()}, func([]byte) {})
	wrong, ok := errors.AsType[*failure.WrongAnswers](err)
	if !ok || !strings.Contains(err.Error(), "visit (journey of 2 steps, the first page of a category (find ") {
		t.Errorf("%v, %v", err, wrong)
	}
}

// A mistaken store leaves out the second field of every tenth record that is read by its key.
type mistaken struct {
	*watched
	n atomic.Int64
}

func (s *mistaken) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	err := s.watched.Get(ctx, t, keys, mask, rows)
	if n := s.n.Add(1); t.Class == driver.Records && n%10 == 0 && len(rows[0].Fields) > 1 {
		rows[0].Fields = append([]driver.Value{}, rows[0].Fields...)
		rows[0].Fields[1] = driver.Value{}
	}
	return err
}

func TestJourneyFaults(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"{query: product,", "{query: produkt,", `journey visit has the step "produkt", which is no query of the workload`},
		{"{query: product,", "{query: visit,", "step visit of journey visit is a journey itself"},
		{"{query: product, chance: 0.7, take: found}", "{query: product, take: lost}", `takes "lost"; want found`},
		{"{query: product, chance: 0.7", "{query: product, chance: 7", "want 0 to 1"},
		{"[{query: page of a category}, ", "[", "takes what the step before found, and there is none"},
		{"{query: page of a category}", "{query: cart}", "takes what the step before found, and that finds no record of products"},
		{"{query: reserve, chance: 0.3, take: found}", "{query: page of a category, take: found}", "takes a record that was found, and is of kind find"},
		{"{query: into the cart}", "{query: into the cart}, {query: into the cart}", "inserts twice into carts"},
		{"add: {stock: -1}", "set: {category: c01}", "changes category of a record that was found, which is in the key of an index"},
		{", steps: [{query: page of a category}, {query: product, chance: 0.7, take: found}, {query: reserve, chance: 0.3, take: found}, {query: into the cart}]", "", "query visit has no steps"},
	} {
		if _, err := shop(t, tt.old, tt.new); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%q for %q: %v, want %q", tt.new, tt.old, err, tt.want)
		}
	}
}
