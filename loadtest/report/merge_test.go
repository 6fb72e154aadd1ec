package report

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A sent operation has the times that a share measured.
type sent struct {
	query                        int
	response, service, work, lag int64
}

// shareOf returns the result of a share that measured so much in each round.
func shareOf(number, of int, rounds [][]sent) *Result {
	r := small(made{"a", driver.Power, fast, 0, fast, 100, 0})
	r.Share = &ShareResult{Number: number, Of: of, Start: time.Unix(1e9, 0).UTC(), Group: "load_a", Data: "d", Layout: "l"}
	m := &merging{}
	text := func(list []sent, query int, of func(sent) int64) string {
		h := newHistogram()
		for _, x := range list {
			if query < 0 || x.query == query {
				_ = h.RecordValue(of(x))
			}
		}
		return m.encoded(h)
	}
	response := func(x sent) int64 { return x.response }
	lag := func(x sent) int64 { return x.lag }
	c := &r.Candidates[0]
	all := slices.Concat(rounds...)
	c.LagTimes = text(all, -1, lag)
	for at := range c.Queries {
		q := &c.Queries[at]
		q.Calls, q.Outcomes, q.Histograms = count64(all, at), map[string]int{outcomeDone: int(count64(all, at))}, map[string]string{}
		q.Histograms["response"] = text(all, at, response)
		q.Histograms["service"] = text(all, at, func(x sent) int64 { return x.service })
	}
	c.Rounds = c.Rounds[:len(rounds)]
	for i := range c.Rounds {
		x := &c.Rounds[i]
		x.Ops, x.LagTimes = len(rounds[i]), text(rounds[i], -1, lag)
		x.Trips, x.ServerCPU, x.Slots, x.Backlog = int64(number), time.Duration(number), 10*number, number
		x.Series = []IntervalResult{{Calls: len(rounds[i]), Response: text(rounds[i], -1, response)}}
		for at := range x.Queries {
			q := &x.Queries[at]
			q.Calls, q.Response = count64(rounds[i], at), text(rounds[i], at, response)
			q.Service, q.WorkTimes = text(rounds[i], at, func(x sent) int64 { return x.service }), text(rounds[i], at, func(x sent) int64 { return x.work })
			for j, o := range r.Queries[at].Objectives {
				q.Objectives[j] = Mark{Over: over(rounds[i], at, o.Bound)}
			}
		}
	}
	return r
}

func count64(list []sent, query int) (n int64) {
	for _, x := range list {
		if x.query == query {
			n++
		}
	}
	return n
}

func over(list []sent, query int, bound time.Duration) (n int) {
	for _, x := range list {
		if x.query == query && x.response > int64(bound) {
			n++
		}
	}
	return n
}

// drawn returns the operations of a round: their times lie around the bound of the objective, 500 ms.
func drawn(r *rand.Rand, n int) (list []sent) {
	for range n {
		x := sent{query: r.IntN(2), service: 1000 + r.Int64N(5e8), lag: r.Int64N(1e6)}
		x.work = x.service + r.Int64N(1e7)
		if x.response = x.work + x.lag; r.IntN(90) == 0 {
			x.response = 5e8 - 1 + r.Int64N(3)
		}
		list = append(list, x)
	}
	return list
}

// What shares measured merges to what one process has that measured all of it: sums, percentiles of the union, and the
// judgement of objectives to the nanosecond.
func TestMergeIsTheUnion(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		of := 1 + r.IntN(4)
		shares, whole := make([][][]sent, of), make([][]sent, 2)
		for i := range whole {
			for n := range of {
				list := drawn(r, 20+r.IntN(60))
				shares[n], whole[i] = append(shares[n], list), append(whole[i], list...)
			}
		}
		m := &merging{}
		for n, rounds := range shares {
			m.parts = append(m.parts, shareOf(n+1, of, rounds))
		}
		one := &merging{parts: []*Result{shareOf(1, 1, whole)}}
		got, want := m.result(), one.result()
		if m.err != nil || one.err != nil {
			t.Fatal(m.err, one.err)
		}
		c, d := &got.Candidates[0], &want.Candidates[0]
		if c.Lag != d.Lag || c.Reads != d.Reads || c.Writes != d.Writes {
			t.Errorf("seed %d: lag %v, reads %v, writes %v; want %v, %v, %v", seed, c.Lag, c.Reads, c.Writes, d.Lag, d.Reads, d.Writes)
		}
		for at := range c.Queries {
			a, b := fmt.Sprint(c.Queries[at]), fmt.Sprint(d.Queries[at])
			if a != b {
				t.Errorf("seed %d: query %d is %.300s, want %.300s", seed, at, a, b)
			}
		}
		for i := range c.Rounds {
			checkRound(t, &c.Rounds[i], &d.Rounds[i], whole[i], of)
		}
	}
}

// checkRound compares a merged round with that of one process, and with the operations themselves.
func checkRound(t *testing.T, got, want *RoundResult, list []sent, of int) {
	t.Helper()
	sum := of * (of + 1) / 2
	if got.Ops != len(list) || got.Lag != want.Lag || got.Trips != int64(sum) || got.ServerCPU != time.Duration(of) || got.Slots != 10*sum || got.Backlog != sum {
		t.Errorf("%d operations, lag %v, %d trips, %v of the server, %d slots, backlog %d", got.Ops, got.Lag, got.Trips, got.ServerCPU, got.Slots, got.Backlog)
	}
	if a, b := fmt.Sprint(got.Queries, got.Series), fmt.Sprint(want.Queries, want.Series); a != b {
		t.Errorf("round %d: %.300s, want %.300s", got.Number, a, b)
	}
	var times []int64
	for _, x := range list {
		if x.query == 0 {
			times = append(times, x.response)
		}
	}
	slices.Sort(times)
	exact := time.Duration(times[rank(99, int64(len(times)))-1])
	const bound = 500 * time.Millisecond
	p99 := got.Queries[0].Objectives[0].Response
	if (p99 > bound) != (exact > bound) || p99 < exact-exact/1000-1 || p99 > exact+exact/1000+1 {
		t.Errorf("round %d: p99 %v, want %v", got.Number, p99, exact)
	}
}

// saved writes the results of some shares, and returns their files.
func saved(t *testing.T, list ...*Result) (files []string) {
	t.Helper()
	for i, r := range list {
		Judge(r)
		file := filepath.Join(t.TempDir(), fmt.Sprint(i), "result.json")
		if err := cmp.Or(os.Mkdir(filepath.Dir(file), 0o755), WriteWhole(file, r.WriteJSON)); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// threeShares returns small results of shares that belong together, whose rounds measured the same.
func threeShares() (list []*Result) {
	round := drawn(rand.New(rand.NewPCG(1, 1)), 20)
	for n := range 3 {
		r := shareOf(n+1, 3, [][]sent{round})
		r.Rounds = 1
		list = append(list, r)
	}
	return list
}

// Results are merged in any order. A share has no verdict; what is merged has one, and can be read again.
func TestMerge(t *testing.T) {
	list := threeShares()
	files := saved(t, list[2], list[0], list[1])
	if r := list[1]; r.Exit != Met || len(r.Verdicts) != 0 || !strings.Contains(r.Text, "No verdict: this is share 2 of 3") {
		t.Errorf("a share ends with %d, %d verdicts, and\n%s", r.Exit, len(r.Verdicts), r.Text)
	}
	r, err := Merge(files)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read(saved(t, r)[0])
	if err != nil || again.Text != r.Text || len(r.Verdicts) != 1 || r.Share != nil || len(r.Shares) != 3 || !strings.Contains(r.Text, "3 shares from ") {
		t.Errorf("%v; %d verdicts, %d shares, and\n%s", err, len(r.Verdicts), len(r.Shares), r.Text)
	}
}

// Results that do not belong together are refused, with what is wrong. Unchanged ones are not: see TestMerge.
func TestMergeRefuses(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func([]*Result) []*Result
	}{
		{"the workload is small, and other", func(l []*Result) []*Result { l[1].Workload = "other"; return l }},
		{"what the workload file says is fingerprint , and fingerprint f", func(l []*Result) []*Result { l[1].Fingerprint = "f"; return l }},
		{"the seed is 3, and 4", func(l []*Result) []*Result { l[2].Seed = 4; return l }},
		{"the pace is 200/s", func(l []*Result) []*Result { l[2].Rate = 100; return l }},
		{"the data is hash d, and hash e", func(l []*Result) []*Result { l[1].Share.Data = "e"; return l }},
		{"the layout is hash l, and hash m", func(l []*Result) []*Result { l[1].Share.Layout = "m"; return l }},
		{"the program is , and v2", func(l []*Result) []*Result { l[1].Environment.Program = "v2"; return l }},
		{"the start is ", func(l []*Result) []*Result { l[1].Share.Start = l[1].Share.Start.Add(time.Second); return l }},
		{"the run is load_a, and load_b", func(l []*Result) []*Result { l[1].Share.Group = "load_b"; return l }},
		{"the number of shares is 3, and 4", func(l []*Result) []*Result { l[1].Share.Of = 4; return l }},
		{"what was measured is a with 1 rounds, and a with 0 rounds", func(l []*Result) []*Result { l[1].Candidates[0].Rounds = nil; return l }},
		{"share 2 of 3 is missing; name its result", func(l []*Result) []*Result { return []*Result{l[0], l[2]} }},
		{"are both share 1 of 3; name each result once", func(l []*Result) []*Result { return []*Result{l[0], l[0], l[2]} }},
		{"is the result of a whole run; name results of polystore load --share", func(l []*Result) []*Result { l[1].Share = nil; return l }},
		{"is merged already", func(l []*Result) []*Result { l[1].Share, l[1].Shares = nil, make([]Environment, 2); return l }},
		{"did not come to its end (made: is gone); repeat the run", func(l []*Result) []*Result { l[1].Ended = "made: is gone"; return l }},
		{"has format 4, and this version", func(l []*Result) []*Result { l[1].Format = 4; return l }},
		{"there is no result to merge", func([]*Result) []*Result { return nil }},
		{"a histogram cannot be read", func(l []*Result) []*Result { l[1].Candidates[0].LagTimes = "x"; return l }},
		{"a histogram of query \"one post\" has ", func(l []*Result) []*Result { l[1].Candidates[0].Queries[0].Calls++; return l }},
	} {
		if _, err := Merge(saved(t, tt.change(threeShares())...)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v; want %q", err, tt.want)
		}
	}
}

// A share is compared with nothing, and no forecast is made of it.
func TestSharesAreNoResults(t *testing.T) {
	list := threeShares()
	for _, r := range list {
		Judge(r)
	}
	if c := Compare(list[0], list[1]); c.Exit != Invalid || !strings.Contains(strings.Join(c.Apart, " "), "merge all shares") {
		t.Errorf("exit %d, %q", c.Exit, c.Apart)
	}
	if _, err := Plan(list[:2], 100); err == nil || !strings.Contains(err.Error(), "merge all shares") {
		t.Error(err)
	}
}
