package loadtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A made candidate has the figures that a test wants.
type made struct {
	name     string
	class    driver.Durability
	response time.Duration // of every operation
	lag      time.Duration
	cpu      time.Duration // an operation
	bytes    int64
	backlog  int
}

func (m made) candidate(w *Workload) *candidate {
	return m.on(&store{facts: driver.Facts{Name: "made", Durability: m.class, Setting: "made so", OneProcess: true}}, w)
}

// on returns the candidate on a store of the test's.
func (m made) on(s *store, w *Workload) *candidate {
	c := newCandidate(w, s, &model{name: m.name}, "")
	c.records, c.scans = m.bytes, make([]bool, len(w.queries))
	for i := range 6 {
		r := m.round(w)
		r.number, r.ops, r.spent = i+1, 1000, cost{client: 1000*m.cpu + time.Duration(i)}
		if c.rounds = append(c.rounds, r); m.backlog > 0 {
			r.backlog = backlog{half: m.backlog / 2, end: m.backlog, busy: 64, slots: 64}
		}
	}
	for range 2000 {
		x := &sample{lag: int64(m.lag), service: int64(m.response - m.lag)}
		c.spectra[0].record(x)
		c.all.record(x)
	}
	c.judge(w)
	return c
}

const madeOps = 334 // of the first query in a round: of six rounds they tell a p99

// round returns a round in which all operations took as long.
func (m made) round(w *Workload) *round {
	b := &bench{rate: w.Rate, slots: w.Slots}
	for range madeOps {
		b.samples = append(b.samples, sample{lag: int64(m.lag), service: int64(m.response - m.lag)})
	}
	r := &round{ops: madeOps}
	r.count(b, w.queries)
	return r
}

const (
	fast = time.Millisecond
	slow = time.Second // the small workload asks p99 ≤ 500 ms
)

func TestVerdicts(t *testing.T) {
	good := made{"good", driver.Power, fast, 0, 100 * time.Microsecond, 1000, 0}
	tests := []struct {
		name  string
		made  []made
		best  string
		exit  int
		words []string
	}{
		{"one is cheaper", []made{{"dear", driver.Power, fast, 0, 250 * time.Microsecond, 900, 0}, good}, "good", Met,
			[]string{"Take good. The objective is met; 2.5 times less CPU for the mix than dear", "10 % fewer bytes: take it where these matter more."}},
		{"one misses", []made{{"late", driver.Power, slow, 0, 50 * time.Microsecond, 500, 0}, good}, "good", Met,
			[]string{"Take good", "no other does that", "late falls short: 1 of 1 objectives are missed: one post (p99 1 s, asked ≤ 500 ms, missed in 6 of 6 rounds). It takes 50 % fewer bytes. Not asked"}},
		{"all miss", []made{{"late", driver.Power, slow, 0, 50 * time.Microsecond, 500, 0}}, "late", Missed, []string{"late does not do what is asked"}},
		{"none of two", []made{{"late", driver.Power, slow, 0, 50, 500, 0}, {"later", driver.Power, 2 * slow, 0, 90, 500, 0}}, "late", Missed, []string{"None does what is asked. The nearest is late"}},
		{"too close", []made{{"other", driver.Power, fast, 0, 101 * time.Microsecond, 1000, 0}, good}, "good", Met, []string{"too close to call against other"}},
		{"too close, so fewer bytes", []made{good, {"other", driver.Power, fast, 0, 101 * time.Microsecond, 500, 0}}, "other", Met, []string{"Take other. The objective is met; too close to call against good by CPU for the mix, so the one with fewer bytes.", "good does what is asked, too. It takes 100 % more bytes"}},
		{"saturated", []made{{"full", driver.Power, slow, 0, 50, 500, 200}, good}, "good", Met, []string{"full falls short: it cannot carry 200/s"}},
		{"late clock", []made{{"unlucky", driver.Power, slow, slow / 2, 50, 500, 0}, good}, "good", Met, []string{"no other is known to do that", "unlucky is not judged: the clock was late (lag p99 500 ms)"}},
		{"late clock for all", []made{{"unlucky", driver.Power, slow, slow / 2, 50, 500, 0}, {"late", driver.Power, slow, 0, 50, 500, 0}}, "late", Invalid, []string{"No verdict: the clock was late"}},
		{"late clock alone", []made{{"unlucky", driver.Power, slow, slow / 2, 50, 500, 0}}, "unlucky", Invalid, []string{"No verdict: the clock was late"}},
		{"lag that does no harm", []made{{"lucky", driver.Power, fast, fast / 2, 50, 500, 0}}, "lucky", Met, []string{"lucky: The objective is met."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := mustParse(t, small)
			var list []*candidate
			for _, m := range tt.made {
				list = append(list, m.candidate(w))
			}
			verdicts := decide(list)
			if got := verdicts[0].best().label; got != tt.best {
				t.Errorf("the best is %s, want %s", got, tt.best)
			}
			if got := exitCode(verdicts); got != tt.exit {
				t.Errorf("exit %d, want %d", got, tt.exit)
			}
			text := words(w, list, verdicts)
			for _, want := range tt.words {
				if !strings.Contains(text, want) {
					t.Errorf("the screen has no %q:\n%s", want, text)
				}
			}
		})
	}
}

// words returns the screen with its lines joined.
func words(w *Workload, list []*candidate, verdicts []*verdict) string {
	r := &run{w: w, candidates: list, data: []*table{{n: 10}}}
	for _, c := range list {
		if !slices.Contains(r.stores, c.store) {
			r.stores = append(r.stores, c.store)
		}
	}
	return strings.Join(strings.Fields((&screen{r: r, verdicts: verdicts}).text()), " ")
}
