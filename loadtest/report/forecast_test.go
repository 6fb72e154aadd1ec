package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// sized returns a result of a model with n records, whose costs grow by the exponents.
func sized(n int, exponent float64) *Result {
	grown := func(at1000 float64) float64 { return at1000 * math.Pow(float64(n)/1000, exponent) }
	r := small(made{"m", driver.Power, time.Duration(grown(float64(2 * time.Millisecond))), 0, time.Millisecond, 100, 0})
	Judge(r)
	r.Data = []DataResult{{Collection: "posts", Records: n}, {Collection: "users", Records: 10}}
	c := &r.Candidates[0]
	c.RecordBytes, c.IndexBytes = int64(100*n), int64(50*n)
	c.Queries[0].RowsEach, c.Queries[0].RequestsEach = grown(20), 1
	return r
}

func TestForecast(t *testing.T) {
	for _, exponent := range []float64{0, 0.5, 1} {
		f, err := Plan([]*Result{sized(4000, exponent), sized(1000, exponent), sized(16_000, exponent)}, 64_000)
		if err != nil {
			t.Fatal(err)
		}
		costs := map[string]Growth{}
		for _, x := range f.Candidates[0].Costs {
			costs[x.Figure] = x
		}
		rows, want := costs["rows a call"], 20*math.Pow(64, exponent)
		if math.Abs(rows.Forecast/want-1) > 1e-6 || math.Abs(rows.Exponent-exponent) > 1e-6 || math.Abs(rows.Off-1) > 1e-6 {
			t.Errorf("exponent %v: rows %+v; want %v", exponent, rows, want)
		}
		if b := costs["bytes"]; math.Abs(b.Forecast/(150*64_000)-1) > 1e-6 || b.Exponent < 0.999 {
			t.Errorf("bytes: %+v", b)
		}
	}
}

// A forecast says from how many records on an objective is missed, and how far off it was.
func TestForecastText(t *testing.T) {
	f, err := Plan([]*Result{sized(1000, 1), sized(2000, 1), sized(4000, 1)}, 400_000)
	if err != nil {
		t.Fatal(err)
	}
	f.Candidates[0].Objectives = append(f.Candidates[0].Objectives, Horizon{Query: "other", Objective: "p50 ≤ 1 s"}, Horizon{Query: "rare", Objective: "p99 ≤ 1 s", Unknown: "too few calls at 1,000 records"})
	var b bytes.Buffer
	if err := f.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"a forecast for 400,000 records of posts, 100 times the largest of 3 results", "m: 1 of 3 objectives will be missed: one post (p99 ≤ 500 ms, from 250,000 records on).", "Not known: rare (p99 ≤ 1 s, too few calls at 1,000 records)",
		"bytes", "60 MB", "N^1 0 %", "rows a call",
	} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
}

// The times of a model that could not carry the rate tell nothing of what it takes, and what it reads does.
func TestForecastOfTheSaturated(t *testing.T) {
	small, large := sized(1000, 1), sized(4000, 1)
	large.Candidates[0].State = stateSaturated
	f, err := Plan([]*Result{small, large}, 8000)
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]bool{}
	for _, x := range f.Candidates[0].Costs {
		figures[x.Figure] = true
	}
	if figures["service p50"] || !figures["rows a call"] || !figures["bytes"] {
		t.Errorf("forecast: %v", figures)
	}
}

// Where an objective holds by the forecast it is not said to be missed, and the other way round.
func TestHorizon(t *testing.T) {
	f := &Forecast{Sizes: []int{100, 1000}, Size: 10_000}
	with := func(bound time.Duration, measured ...time.Duration) (of []*CandidateResult) {
		for _, m := range measured {
			of = append(of, &CandidateResult{Queries: []QueryResult{{Objectives: []ObjectiveResult{{Name: "p99", Bound: bound, Measured: m, Finding: met}}}}})
		}
		return of
	}
	const ms = time.Millisecond
	for _, tt := range []struct {
		of   []*CandidateResult
		from int
	}{
		{with(100*ms, 1*ms, 2*ms), 0},
		{with(100*ms, 1*ms, 10*ms), 0}, // exactly at the end
		{with(50*ms, 1*ms, 10*ms), 5000},
		{with(5*ms, 1*ms, 10*ms), 1000},
		{with(5*ms, 10*ms, 1*ms), 100},
		{with(50*ms, 10*ms, 1*ms), 0}, // it falls
	} {
		if h := f.horizon(tt.of, 0, 0); math.Abs(float64(h.From-tt.from)) > 0.01*float64(tt.from)+1 && tt.from > 0 || tt.from == 0 && h.From != 0 && h.From < 9_999 {
			t.Errorf("%v: from %d on; want %d", tt.of[0].Queries[0].Objectives[0], h.From, tt.from)
		}
	}
	few := with(5*ms, 1*ms, 1*ms)
	few[1].Queries[0].Objectives[0].Finding = fewCalls
	if h := f.horizon(few, 0, 0); h.Unknown == "" || h.From != 0 {
		t.Errorf("with too few calls: %+v", h)
	}
}

func TestPlanRefuses(t *testing.T) {
	other, lost := sized(4000, 1), sized(4000, 1)
	other.Fingerprint, lost.Ended = "f2", "the store went away"
	small := sized(1000, 1)
	small.Fingerprint = "f1"
	for _, tt := range []struct {
		results []*Result
		records int
		want    string
	}{
		{nil, 1, "two sizes at least"},
		{[]*Result{small}, 1, "two sizes at least"},
		{[]*Result{small, small}, 1, "too alike"},
		{[]*Result{small, sized(1900, 1)}, 1, "too alike"},
		{[]*Result{sized(0, 1), small}, 1, "too alike"},
		{[]*Result{small, other}, 10_000, "not of the same workload"},
		{[]*Result{small, lost}, 10_000, "the store went away"},
		{[]*Result{small, sized(4000, 1)}, 0, "no size"},
		{[]*Result{small, sized(4000, 1)}, 4_001_000, "no size"},
		{[]*Result{{}, {}}, 1, ""},
	} {
		if f, err := Plan(tt.results, tt.records); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d results, %d records: %v, %v; want %q", len(tt.results), tt.records, f, err, tt.want)
		}
	}
}

func TestAbout(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 99: "99", 101: "100", 45_678: "45,000", 1_290_000: "1,200,000"} {
		if got := about(n); got != want {
			t.Error(fmt.Sprint(n, ": ", got, "; want ", want))
		}
	}
}

// What cannot be told is said first where nothing can, and of many only some are named.
func TestForecastUnknown(t *testing.T) {
	g := Growing{}
	for i := range 9 {
		g.Objectives = append(g.Objectives, Horizon{Query: fmt.Sprint("query ", i), Objective: "p50 ≤ 1 s", Unknown: "too few calls at 7 records"})
	}
	text := g.holds()
	if !strings.HasPrefix(text, "whether its objectives hold cannot be told. Not known: query 0 (") || !strings.HasSuffix(text, "query 2 (p50 ≤ 1 s, too few calls at 7 records) and 6 more.") {
		t.Error(text)
	}
}
