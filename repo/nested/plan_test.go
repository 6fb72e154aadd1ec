package nested_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/nested"
)

// A meter counts what operations send, by the names of the operations.
type meter struct {
	mu       sync.Mutex
	requests map[string]int
	indexes  map[string]bool
}

func (m *meter) begin(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
	return ctx, func(e repo.Event) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.requests[e.Op] += e.Requests
		m.indexes[e.Index] = true
	}
}

func (m *meter) reset() { m.requests, m.indexes = map[string]int{}, map[string]bool{} }

// What a query costs is what Explain says, and only records that match are read.
func TestCosts(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			m := &meter{}
			m.reset()
			c := open[person](t, repo.NewStore(memory.New(nil), &repo.Options{Tracer: repo.Tracer{Begin: m.begin}}), way)
			for i := range 10 {
				insert(t, c, person{ID: fmt.Sprint("a", i), Skills: ann.Skills}, person{ID: fmt.Sprint("b", i), Skills: bob.Skills[:i%2]})
			}
			m.reset()
			if got := ids(t, c, poets); len(got) != 5 {
				t.Fatal(got)
			}
			plan, err := c.Explain(poets)
			if err != nil {
				t.Fatal(err)
			}
			ranges := 2 * max(1, way.Numbers)
			if plan.Ranges != ranges || plan.Requests != ranges || plan.Depth != 2 || !plan.Range.Covered {
				t.Errorf("%+v", plan)
			}
			if sent := m.requests["find"]; sent != plan.Requests {
				t.Errorf("%d requests for index rows, the plan has %d: %v", sent, plan.Requests, m.requests)
			}
			if m.requests["get many"] != 5 {
				t.Errorf("5 records were found: %v", m.requests)
			}
			if !m.indexes[plan.Index] || !strings.Contains(plan.String(), name) {
				t.Errorf("%s, %v", plan, m.indexes)
			}
		})
	}
}

// Where the index lies outside the commit of the record, the plan says that rows cost more.
func TestPlanOfRemoteRows(t *testing.T) {
	for _, url := range stores {
		plan, err := open[person](t, newStore(t, url), ways["proximity"]).Explain(poets)
		if remote := url == "remote:"; err != nil || plan.PerRow != remote || strings.Contains(plan.String(), "index row") != remote {
			t.Errorf("%s: %s, %v", url, plan, err)
		}
	}
}

// How many rows a record has.
func TestRows(t *testing.T) {
	same := person{ID: "x", Skills: make([]skill, 5)} // each has an empty skill and is not certified
	for name, wanted := range map[string]int{"proximity": 2, "numbered": 10} {
		c := open[person](t, newStore(t, "memory:"), ways[name])
		if n, err := c.Rows(&same); n != wanted || err != nil {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
		insert(t, c, same)
		reports, err := c.Repo().Verify(t.Context())
		if err != nil || len(reports) != 1 || reports[0].Rows != wanted {
			t.Errorf("%s: %+v, %v", name, reports, err)
		}
	}
}

// Leaving a loop ends the query: hardly more is read than was wanted.
func TestBreak(t *testing.T) {
	for name, way := range ways {
		m := &meter{}
		m.reset()
		c := open[person](t, repo.NewStore(memory.New(nil), &repo.Options{Tracer: repo.Tracer{Begin: m.begin}}), way)
		for i := range 400 {
			insert(t, c, person{ID: fmt.Sprintf("p%03d", i), Skills: bob.Skills})
		}
		m.reset()
		n := 0
		for _, err := range c.Find(t.Context(), nested.Where("skill", "Poetry")) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
		}
		total := 0
		for _, sent := range m.requests {
			total += sent
		}
		if n != 3 || total > 8+max(1, way.Numbers) {
			t.Errorf("%s: %d records, %v", name, n, m.requests)
		}
	}
}
