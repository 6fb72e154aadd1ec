package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo/driver"
)

// twice returns two judged results of candidates a and b, of which the later one was changed.
func twice(change func(r *Result)) (before, after *Result) {
	make := func() *Result {
		r := small(made{"a", driver.Power, fast, 0, fast, 100, 0}, made{"b", driver.Memory, fast, 0, fast, 100, 0})
		r.Environment, r.Fingerprint = Environment{OS: "linux", Arch: "amd64", CPU: "fast", CPUs: 2, GOMAXPROCS: 2, Go: "go1.26", Program: "v1"}, "f1"
		return r
	}
	before, after = make(), make()
	busy(before, 1)
	busy(after, 1)
	change(after)
	Judge(before)
	Judge(after)
	return before, after
}

// scale gives the first query of a candidate other times.
func scale(c *CandidateResult, times float64) {
	for i := range c.Rounds {
		q := &c.Rounds[i].Queries[0]
		for _, d := range []*time.Duration{&q.Work, &q.P50.Response, &q.P99.Response, &q.P99.Service, &q.Objectives[0].Response, &q.Objectives[0].Service} {
			*d = time.Duration(float64(*d) * (times + float64(i)/1000))
		}
	}
}

func TestCompare(t *testing.T) {
	a := func(r *Result) *CandidateResult { return &r.Candidates[0] }
	for name, tt := range map[string]struct {
		change func(*Result)
		exit   int
		want   []string
	}{
		"the same":           {func(*Result) {}, Met, []string{"NO REGRESSION: 0 worse, 0 better, of 6 figures."}},
		"4 % is none":        {func(r *Result) { scale(a(r), 1.04) }, Met, []string{"NO REGRESSION: 0 worse, 0 better"}},
		"slower":             {func(r *Result) { scale(a(r), 1.5) }, Missed, []string{"REGRESSION: 2 worse, 0 better, of 6 figures.", "a: one post p50 1 ms 1.5 ms 1.50", "a: one post p99 1 ms 1.5 ms 1.50"}},
		"faster":             {func(r *Result) { scale(a(r), 0.5) }, Met, []string{"NO REGRESSION: 0 worse, 2 better", "a: one post p50 1 ms 502 µs 0.50"}},
		"more CPU":           {func(r *Result) { cpu(a(r)) }, Missed, []string{"REGRESSION: 1 worse", "a CPU for the mix 1 ms 2 ms 2.00"}},
		"an objective":       {func(r *Result) { scale(a(r), 1000) }, Missed, []string{"REGRESSION: 1 demand met before and missed now; 2 worse", "missed now a: one post (p99 1 s, asked ≤ 500 ms"}},
		"failures":           {func(r *Result) { a(r).Failures, a(r).Failure = 3, "get: boom" }, Missed, []string{"a: 3 operations failed, the first: get: boom"}},
		"another seed":       {func(r *Result) { r.Seed = 9 }, Met, []string{"NO REGRESSION", "seed: 3, and then 9"}},
		"another program":    {func(r *Result) { r.Environment.Program = "v2" }, Met, []string{"program: v1, and then v2"}},
		"another kernel":     {func(r *Result) { r.Environment.Kernel = "7" }, Met, []string{"kernel: unknown, and then 7"}},
		"another version":    {func(r *Result) { r.Stores[0].Version = "9" }, Met, []string{"made: , and then 9"}},
		"another machine":    {func(r *Result) { r.Environment.CPUs = 4 }, Invalid, []string{"NOT COMPARABLE", "the machine is another: linux amd64, fast, 2 processors"}},
		"another workload":   {func(r *Result) { r.Fingerprint = "f2" }, Invalid, []string{"the workload file says something else"}},
		"no fingerprint":     {func(r *Result) { r.Fingerprint = "" }, Met, []string{"NO REGRESSION"}},
		"other objectives":   {func(r *Result) { r.Queries[0].Objectives[0].Bound += time.Second }, Invalid, []string{"the list of queries is another"}},
		"other weights":      {func(r *Result) { r.Queries[0].Weight = 80 }, Invalid, []string{"the list of queries is another"}},
		"other data":         {func(r *Result) { r.Data[0].Records = 11 }, Invalid, []string{"the data are others: 10 posts, and 11 posts"}},
		"another rate":       {func(r *Result) { r.Rate = 300 }, Invalid, []string{"the pace is another: 200/s, 6 rounds of 200ms, 64 slots, and 300/s"}},
		"another class":      {func(r *Result) { r.Stores[0].Durability = "delayed" }, Invalid, []string{"a was of class power, and is of class delayed"}},
		"another delay":      {func(r *Result) { r.Stores[0].Delay = time.Second }, Invalid, []string{"a was of class power, and is of class power by 1s"}},
		"another store":      {func(r *Result) { r.Stores[0].Name = "x"; r.Stores[1].Name = "y" }, Invalid, []string{"they have no model on the same store", "a is in the earlier result alone"}},
		"a store was lost":   {func(r *Result) { r.Ended = "made: is gone" }, Invalid, []string{"the later result has no verdict: made: is gone"}},
		"wrong answers":      {func(r *Result) { r.Ended, r.Wrong, r.Rate = "they differ", true, 3 }, Wrong, []string{"WRONG ANSWERS", "the later result has wrong answers: they differ"}},
		"the clock was late": {func(r *Result) { late(a(r)) }, Invalid, []string{"NOT KNOWN", "a, in the later result: the clock was late"}},
		"a busy machine":     {func(r *Result) { busy(r, 3); scale(a(r), 1.5) }, Invalid, []string{"NOT KNOWN", "0 worse", "a: 2 figures rose, and the clock was late by 3 ms (p99; before 1 ms)"}},
		"a bit busier":       {func(r *Result) { busy(r, 1.5); scale(a(r), 1.5) }, Missed, []string{"REGRESSION: 2 worse"}},
		"busy, and the same": {func(r *Result) { busy(r, 3) }, Met, []string{"NO REGRESSION: 0 worse"}},
		"busy before":        {func(r *Result) { busy(r, 0.2); scale(a(r), 0.5) }, Met, []string{"NO REGRESSION: 0 worse, 0 better"}},
		"late, and slower":   {func(r *Result) { late(a(r)); scale(&r.Candidates[1], 2) }, Missed, []string{"REGRESSION: 2 worse", "not known a, in the later result"}},
	} {
		before, after := twice(tt.change)
		c := Compare(before, after)
		var out bytes.Buffer
		if err := c.WriteText(&out); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		if c.Exit != tt.exit {
			t.Errorf("%s: exit %d, want %d\n%s", name, c.Exit, tt.exit, out.String())
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.String())
			}
		}
	}
}

func cpu(c *CandidateResult) {
	for i := range c.Rounds {
		c.Rounds[i].CPU *= 2
	}
}

// busy makes the clock of each round late by so many milliseconds.
func busy(r *Result, ms float64) {
	for i := range r.Candidates {
		for j := range r.Candidates[i].Rounds {
			r.Candidates[i].Rounds[j].Lag = time.Duration(ms*1e6) + time.Duration(j)
		}
	}
}

// late makes each round of a candidate one whose clock was late, so that it missed what it is asked.
func late(c *CandidateResult) {
	for i := range c.Rounds {
		c.Rounds[i].Lag = time.Second
		c.Rounds[i].Queries[0].Objectives[0].Response = 2 * time.Second
	}
}

// With fewer rounds than tell a difference from chance nothing is compared.
func TestCompareOfFewRounds(t *testing.T) {
	before, after := twice(func(r *Result) { scale(&r.Candidates[0], 9) })
	for _, r := range []*Result{before, after} {
		r.Rounds = limit.LeastRounds - 1
		for i := range r.Candidates {
			r.Candidates[i].Rounds = r.Candidates[i].Rounds[:r.Rounds]
		}
		Judge(r)
	}
	if c := Compare(before, after); c.Exit != Invalid || len(c.Apart) != 1 || !strings.Contains(c.Apart[0], "say --rounds 4") || len(c.Changes) != 0 {
		t.Errorf("%+v", c)
	}
}

// A difference that one query alone would show is none where many queries are looked at together.
func TestCompareOfManyQueries(t *testing.T) {
	for n, worse := range map[int]bool{1: true, 20: false} {
		var list []Change
		for range n {
			list = append(list, change("a", "q", "p50", []float64{10, 11, 12, 13}, []float64{20, 21, 22, 23}))
		}
		var c Comparison
		c.family(list...)
		if len(c.Changes) != n || c.Changes[0].Worse() != worse {
			t.Errorf("of %d, the first is %+v; worse %v wanted", n, c.Changes[0], worse)
		}
	}
}

// Whatever stands in a file that is read, it is compared without a panic.
func TestCompareMutated(t *testing.T) {
	body := written(t, unchanged)
	same, err := parse(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"candidates.0.rounds", "candidates.0.rounds.0.queries.0.work_p50", "candidates.1.name", "candidates.0.model", "models", "data", "environment.cpus", "stores.0.name", "spreads", "fingerprint"} {
		for _, value := range []any{nil, -1, int64(1) << 62, "x", []any{}} {
			r, err := parse(mutated(t, body, path, value))
			if err != nil {
				continue
			}
			for _, pair := range [][2]*Result{{same, r}, {r, same}} {
				var out bytes.Buffer
				if err := Compare(pair[0], pair[1]).WriteText(&out); err != nil || out.Len() == 0 {
					t.Errorf("%s = %v: %v", path, fmt.Sprint(value), err)
				}
			}
		}
	}
}
