package loadtest

import (
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
	s := &store{facts: driver.Facts{Name: "made", Durability: m.class, OneProcess: true}}
	c := newCandidate(w, s, &model{name: m.name}, "")
	c.records, c.scans = m.bytes, make([]bool, len(w.queries))
	for i := range 6 {
		r := &round{number: i + 1, ops: 1000, cpu: 1000*m.cpu + time.Duration(i), backlog: m.backlog, queries: make([]roundQuery, len(w.queries))}
		c.rounds = append(c.rounds, r)
	}
	for range 2000 {
		x := &sample{lag: int64(m.lag), service: int64(m.response - m.lag)}
		c.spectra[0].record(x)
		c.all.record(x)
	}
	c.judge(w)
	return c
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
			[]string{"Take good", "no other does that", "late falls short: 1 of 1 objectives are missed: one post (p99 1 s, asked ≤ 500 ms). It takes 50 % fewer bytes. Not asked"}},
		{"all miss", []made{{"late", driver.Power, slow, 0, 50 * time.Microsecond, 500, 0}}, "late", Missed, []string{"late does not do what is asked"}},
		{"none of two", []made{{"late", driver.Power, slow, 0, 50, 500, 0}, {"later", driver.Power, 2 * slow, 0, 90, 500, 0}}, "late", Missed, []string{"None does what is asked. The nearest is late"}},
		{"too close", []made{{"other", driver.Power, fast, 0, 101 * time.Microsecond, 1000, 0}, good}, "good", Met, []string{"too close to call against other"}},
		{"too close, so fewer bytes", []made{good, {"other", driver.Power, fast, 0, 101 * time.Microsecond, 500, 0}}, "other", Met, []string{"Take other", "good does what is asked, too. It takes 100 % more bytes"}},
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
	r.stores = []*store{list[0].store}
	return strings.Join(strings.Fields((&screen{r: r, verdicts: verdicts}).text()), " ")
}

// Stores of two classes of durability are not ranked against each other.
func TestClassesAreNotRanked(t *testing.T) {
	w := mustParse(t, small)
	list := []*candidate{
		made{"a", driver.Memory, fast, 0, 10 * time.Microsecond, 100, 0}.candidate(w),
		made{"b", driver.Power, slow, 0, 100 * time.Microsecond, 100, 0}.candidate(w),
	}
	verdicts := decide(list)
	if len(verdicts) != 2 || exitCode(verdicts) != Missed {
		t.Fatalf("%d verdicts, exit %d; want 2 and %d", len(verdicts), exitCode(verdicts), Missed)
	}
	text := words(w, list, verdicts)
	for _, want := range []string{"Class memory: a:", "Class power: b does not", "Not ranked against each other: made loses everything with its process and made survives a power loss."} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen has no %q:\n%s", want, text)
		}
	}
}

func TestRedactAndLocal(t *testing.T) {
	tests := []struct {
		url, redacted string
		local         bool
	}{
		{"memory:", "memory:", true},
		{"pebble:/data/x?sync=false", "pebble:/data/x?sync=false", true},
		{"redis://localhost:6379/0", "redis://localhost:6379/0", true},
		{"redis://user:s3cret@127.0.0.1:6379", "redis://user:***@127.0.0.1:6379", true},
		{"redis://:p@s/s?wd@example.org", "redis://:***@example.org", false},
		{"redis://127.0.0.1:1@example.org:6379", "redis://127.0.0.1:***@example.org:6379", false},
		{"mongodb://localhost,db.example.org/x?password=s3cret&w=1", "mongodb://localhost,db.example.org/x?password=***&w=***", false},
		{"redis://s3cret@localhost", "redis://:***@localhost", true},
		{"redis:me:s3cret@localhost", "redis:me:***@localhost", true},
		{"redis://localhost/?pw=s3cret;p%61ss=s3cret#pass=s3cret", "redis://localhost/?pw=***&p%61ss=***&pass=***", true},
		{"redis://localhost/?s3cret", "redis://localhost/?***", true},
		{"redis://localhost/#s3cret", "redis://localhost/", true},
		{"pebble:/data/me@host#1", "pebble:/data/me@host#1", true},
		{"pebble:/data/x?sync=s3cret", "pebble:/data/x?sync=***", true},
		{"redis://[::1]:6379", "redis://[::1]:6379", true},
		{"redis://%2Ftmp%2Fsock", "redis://%2Ftmp%2Fsock", true},
		{"redis://127.0.0.1.example.org", "redis://127.0.0.1.example.org", false},
	}
	for _, tt := range tests {
		if got := Redact(tt.url); got != tt.redacted {
			t.Errorf("Redact(%s) = %s, want %s", tt.url, got, tt.redacted)
		}
		if got := Local(tt.url); got != tt.local {
			t.Errorf("Local(%s) = %v, want %v", tt.url, got, tt.local)
		}
	}
}
