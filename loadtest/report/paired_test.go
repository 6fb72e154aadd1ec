package report

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A weather is what makes the rounds of a run differ, as standard deviations of logarithms.
type weather struct {
	name  string
	load  float64 // other programs, whose load lasts for some rounds
	own   float64 // of each round alone
	tail  float64 // as that, of Student's t with three degrees of freedom
	drift float64 // from the first round to the last, at most
	step  float64 // from one round on
	spike float64 // how often a round takes up to 2.7 times as long
	made  float64 // of each candidate in all its rounds: how its data happen to lie
}

var (
	// calm are machines that are left alone. Each has what real ones have: load that lasts, heavy tails, drift.
	calm = []weather{{"quiet", 0.01, 0.01, 0.005, 0.05, 0, 0, 0.005}, {"usual", 0.02, 0.015, 0.005, 0.05, 0, 0.002, 0.01}}

	// rough are machines with other things to do.
	rough = []weather{{"busy", 0.05, 0.03, 0.02, 0.1, 0, 0.02, 0.01}, {"very busy", 0.1, 0.05, 0.03, 0.1, 0.1, 0.05, 0.01},
		{"wild", 0.25, 0.1, 0.05, 0.2, 0.2, 0.1, 0.01}, {"drift", 0.02, 0.02, 0.01, 0.4, 0, 0, 0.01}, {"step", 0.02, 0.02, 0.01, 0, 0.3, 0, 0.01},
		{"noise alone", 0, 0.1, 0, 0, 0, 0, 0}, {"spikes", 0, 0.01, 0, 0, 0, 0.3, 0}}
)

// rounds returns the figures of two candidates, of which the second takes so many times as much.
func (w weather) rounds(r *rand.Rand, n int, times float64) (a, b []float64) {
	const lasts = 0.7
	load, drift, first := w.load*r.NormFloat64(), w.drift*(2*r.Float64()-1), 0
	from, step := r.IntN(2*n), w.step*float64(2*r.IntN(2)-1)
	base := [2]float64{w.made * r.NormFloat64(), w.made*r.NormFloat64() + math.Log(times)}
	var of [2][]float64
	for at := range 2 * n {
		if at%4 == 0 {
			first = r.IntN(2)
		}
		load = lasts*load + math.Sqrt(1-lasts*lasts)*w.load*r.NormFloat64()
		x := load + w.own*r.NormFloat64() + w.tail*student(r) + drift*float64(at)/float64(2*n)
		if at >= from {
			x += step
		}
		if r.Float64() < w.spike {
			x += r.Float64()
		}
		which := (first + at%2 + at/2) % 2 // the order is turned round in each second round
		of[which] = append(of[which], math.Exp(base[which]+x))
	}
	return of[0], of[1]
}

// student returns a number of Student's t distribution with three degrees of freedom.
func student(r *rand.Rand) float64 {
	sum := 0.0
	for range 3 {
		x := r.NormFloat64()
		sum += x * x
	}
	return r.NormFloat64() / math.Sqrt(sum/3)
}

// better reports whether two candidates of one run, alone, are told apart. Of most the intervals need not be made.
func better(a, b []float64) bool {
	p, _ := byChance(a, b)
	return p <= alphaBetter && compareCandidates(a, b).decides()
}

// Whatever the machine does, one model under two names is called better in one of a thousand runs at most, and so is one
// that takes 2 % less. The control is the rule between two runs, which here claims too much.
func TestAlikeIsNotBetter(t *testing.T) {
	const runs = 1000
	r := rand.New(rand.NewPCG(1, 2))
	wrong, before := 0, 0
	for _, times := range []float64{1, 1.02} {
		for _, w := range append(calm, rough...) {
			n := 0
			for i := range runs / 2 {
				a, b := w.rounds(r, 6, times)
				if better(a, b) {
					n++
				}
				if i < 10 && compareRounds(a, b).clear() {
					before++
				}
			}
			if wrong += n; n > 2 {
				t.Errorf("%s, %v times: called better in %d of %d runs", w.name, times, n, runs/2)
			}
		}
	}
	if all := runs * len(append(calm, rough...)); wrong > all/1000 {
		t.Errorf("called better in %d of %d runs", wrong, all)
	} else {
		t.Logf("called better in %d of %d runs; by the rule between two runs in %d of %d", wrong, all, before, all/(runs/20))
	}
	if before == 0 {
		t.Error("the rule between two runs claims nothing either: the noise is too little to tell")
	}
}

// On a machine that is left alone 20 % more is found by six rounds, and on one that grows busier by twelve.
func TestTwentyPercentAreFound(t *testing.T) {
	const runs = 60
	for _, tt := range []struct {
		w      weather
		rounds int
		least  int
	}{{calm[0], 6, 60}, {calm[1], 6, 57}, {rough[3], 12, 57}} {
		r := rand.New(rand.NewPCG(3, 4))
		found := 0
		for range runs {
			if a, b := tt.w.rounds(r, tt.rounds, 1.2); better(a, b) {
				found++
			}
		}
		if t.Logf("%s, %d rounds: %d of %d", tt.w.name, tt.rounds, found, runs); found < tt.least {
			t.Errorf("%s, %d rounds: found in %d of %d runs, want %d", tt.w.name, tt.rounds, found, runs, tt.least)
		}
	}
}

// These are the processor times of a run of one model under two names, on a busy machine: once called 13 % less.
func TestTheRunThatWasCalledBetter(t *testing.T) {
	one := []float64{349.1, 327.7, 333.5, 322.3, 348.7, 314.5}
	other := []float64{375.3, 376.9, 378.8, 384.7, 337.5, 404.3}
	if got := compareCandidates(other, one); got.decides() || got.Against != 1 {
		t.Errorf("%+v decides", got)
	}
	if !compareRounds(other, one).clear() {
		t.Error("the rule between two runs does not call it better")
	}
	other[4] = 387.5
	if got := compareCandidates(other, one); !got.decides() {
		t.Errorf("%+v does not decide, though all rounds agree", got)
	}
}

// Each condition of a decision is one.
func TestDecides(t *testing.T) {
	good := Ratio{Times: 1.2, Low: 1.1, High: 1.3, P: 0.0001, Adjusted: 0.0005, Rounds: [2]int{6, 6}}
	for name, tt := range map[string]struct {
		change func(r *Ratio)
		want   bool
	}{
		"all":                       {func(*Ratio) {}, true},
		"less":                      {func(r *Ratio) { r.Low, r.High = 0.7, 0.9 }, true},
		"may be chance":             {func(r *Ratio) { r.Adjusted = 0.002 }, false},
		"three rounds":              {func(r *Ratio) { r.Rounds = [2]int{3, 6} }, false},
		"one of six rounds against": {func(r *Ratio) { r.Against = 1 }, false},
		"one of nine":               {func(r *Ratio) { r.Against, r.Rounds = 1, [2]int{9, 9} }, true},
		"may be 4 %":                {func(r *Ratio) { r.Low = 1.04 }, false},
		"may be 4 % less":           {func(r *Ratio) { r.Low, r.High = 0.7, 0.96 }, false},
	} {
		r := good
		if tt.change(&r); r.decides() != tt.want {
			t.Errorf("%s: %+v decides is %v", name, r, !tt.want)
		}
	}
}

// All comparisons of a run are adjusted together: of many candidates, and of the median and the mean.
func TestOneFamily(t *testing.T) {
	close := []float64{1.12, 1.13, 1.1, 1.2, 1.11, 1.17}
	adjusted := func(others int, byCPU bool, of int) float64 {
		v := &verdict{byCPU: byCPU, of: of}
		for i := range others + 1 {
			c := CandidateResult{State: stateValid}
			for j := range 6 {
				x := 100.0
				if i == 1 {
					x *= close[j]
				}
				x *= 1 + float64(j)/50
				c.Rounds = append(c.Rounds, RoundResult{Ops: 1, CPU: time.Duration(1000 * x), Queries: []RoundQuery{{Calls: 1, Work: time.Duration(1000 * x), WorkMean: time.Duration(1000 * x)}}})
			}
			v.ranked = append(v.ranked, &candidate{CandidateResult: &c, result: &Result{}, on: &StoreResult{}})
		}
		v.compare()
		return v.ratios[1].Adjusted / v.ratios[1].P
	}
	for _, tt := range []struct {
		others int
		byCPU  bool
		of     int
		want   float64
	}{{1, true, 1, 1}, {3, true, 1, 3}, {1, false, 1, 2}, {3, false, 1, 6}, {3, true, 2, 6}} {
		if got := adjusted(tt.others, tt.byCPU, tt.of); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%d others, by CPU %v, %d verdicts: adjusted by %v, want %v", tt.others, tt.byCPU, tt.of, got, tt.want)
		}
	}
}
