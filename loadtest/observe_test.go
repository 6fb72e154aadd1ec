package loadtest

import (
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/testload"
)

// Each operation of the rounds is observed once, and so are those of the round before, in which half as many are sent.
func TestObserve(t *testing.T) {
	opts, told := options(newWatched()), map[[2]string]int64{}
	opts.Observe = func(o *Observation) {
		if o.Response <= 0 || o.Response > time.Minute || o.Lag < 0 || o.Lag > o.Response || o.Store != "memory:" || o.Outcome == "failed" || o.Outcome == "unfinished" {
			t.Errorf("%+v", o)
		}
		told[[2]string{o.Model, o.Query}]++
	}
	result, err := Run(t.Context(), mustParse(t, testload.Small), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range result.Candidates {
		all, sum := int64(0), int64(0)
		for _, q := range c.Queries {
			if n := told[[2]string{c.Model, q.Name}]; n < q.Calls {
				t.Errorf("%s: %d of %d calls of %s were told", c.Name, n, q.Calls, q.Name)
			} else {
				sum += n
			}
			all += q.Calls
		}
		if sum != all*3/2 {
			t.Errorf("%s: told of %d operations, want half as many more than the %d that counted", c.Name, sum, all)
		}
	}
}
