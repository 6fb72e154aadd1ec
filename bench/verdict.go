package main

import (
	"cmp"
	"slices"
	"strings"
)

// A bound is how much more than another candidate one may need for an operation.
type bound struct {
	Op      string  `json:"operation"`
	Name    string  `json:"candidate"`
	Against string  `json:"against"`
	Most    float64 `json:"bound"`                      // 0: the ratio is only told
	Allocs  float64 `json:"bound_allocs"`               // of the allocations; 0: they are only told
	OnlyP50 bool    `json:"only_p50,omitempty"`         // the bound is not for the processor time
	OnlyCPU bool    `json:"only_cpu,omitempty"`         // the bound is not for the latency
	Client  float64 `json:"bound_client_cpu,omitempty"` // of the client's processor time, instead of that of both
	Both    float64 `json:"bound_cpu,omitempty"`        // of the processor time of both, where it is not Most

	// Requests says that no call may make a request more than the floor's. What is asked
	// every other second, whoever calls, adds a few hundredths.
	Requests bool `json:"bound_requests,omitempty"`
}

// bounds returns what is promised in a setting.
func bounds(s setting) []bound {
	if s.Work == treesName {
		return treeBounds(s.Store)
	}
	switch s.Store {
	case redisName:
		return redisBounds(s)
	case mongoName, cassandraName:
		return serverBounds(s)
	}
	most := 1.25
	if s.Sync {
		most = 1.10
	}
	var list []bound
	for _, op := range operations {
		m := most
		if op == opMix {
			m = 0
		}
		list = append(list, bound{Op: op, Name: oursName, Against: floorName, Most: m, Allocs: 2}, bound{Op: op, Name: oursName, Against: tunedName},
			bound{Op: op, Name: oursCoveringName, Against: floorCovers, Most: m, Allocs: 2}, bound{Op: op, Name: oursCoveringName, Against: tunedCovers})
	}
	m := 0.45
	if s.Sync {
		m = 0
	}
	return append(list, bound{Op: opNewest, Name: oursCoveringName, Against: floorName, Most: m, Allocs: 2})
}

func redisBounds(s setting) []bound {
	most := map[int]float64{1: 1.10, 16: 1.05, 64: 0.80}[s.Workers]
	var list []bound
	for _, op := range operations {
		b := bound{Op: op, Name: oursName, Against: floorName, Most: most, Allocs: 1.3, OnlyP50: s.Workers == 64}
		if op == opMix {
			b.Most = 0
		}
		list = append(list, b, usualBound(op, s.Workers))
	}
	return append(list, bound{Op: opNewest, Name: oursCoveringName, Against: floorName, Most: most, Allocs: 1.3, OnlyP50: s.Workers == 64})
}

// usualBound is what is promised beside Redis as people usually write it. A delete of
// theirs is one call, which leaves nothing by which its outcome could be known.
func usualBound(op string, workers int) bound {
	b := bound{Op: op, Name: oursName, Against: usualName, Allocs: 2}
	if workers == 1 || op == opMix || op == opDelete {
		return b
	}
	b.Most, b.Both = 1.10, 1.05
	if workers == 64 {
		b.Most = 1
	}
	if op == opMove || op == opNewest {
		b.Both = 1.15
	}
	return b
}

// serverBounds are those of MongoDB and Cassandra, and of MongoDB with indexes of both
// kinds.
func serverBounds(s setting) []bound {
	var list []bound
	for _, op := range operations {
		b := bound{Op: op, Name: oursName, Against: floorName, Most: 1.05, Client: 1.15, Allocs: 1.5, Requests: true}
		if op == opMix {
			b.Most = 0
		}
		list = append(list, b)
		if s.Store == mongoName {
			b.Name, b.Against = oursNativeName, nativeName
			list = append(list, b, usualMongo(op))
		}
	}
	return list
}

// usualMongo is what is promised beside MongoDB as people usually write it: gets are a
// plain FindOne.
func usualMongo(op string) bound {
	b := bound{Op: op, Name: oursNativeName, Against: usualName, Allocs: 2}
	if op == opGet {
		b.Most = 1.10
	}
	return b
}

// The verdicts. Noisy is that of a run in which two measurements of the same code
// were further apart than the bound allows, so that neither time tells.
const (
	met    = "met"
	missed = "missed"
	noisy  = "noisy"
)

// A line compares two candidates. Its ratios are of the same rounds.
type line struct {
	bound
	P50   estimate `json:"p50"`
	Time  estimate `json:"cpu"`           // of processors
	SameP estimate `json:"p50_same_code"` // floor again against floor
	SameC estimate `json:"cpu_same_code"`
	Own   estimate `json:"client_cpu"` // the client's part of them
	SameO estimate `json:"client_cpu_same_code"`

	P50Micros   [2]float64 `json:"p50_us"` // of the candidate, and of that which it is held against
	CPUMicros   [2]float64 `json:"cpu_us"`
	ServerCPU   [2]float64 `json:"server_cpu_us"` // the part of it that the server has
	Counts      [2]float64 `json:"allocs"`
	AllocsBytes [2]float64 `json:"alloc_bytes"`
	Switches    [2]float64 `json:"switches"`
	Writes      [2]float64 `json:"writes"`
	Asked       [2]float64 `json:"requests"` // to the server, a call

	Verdict string   `json:"verdict"` // "" without a bound
	Because []string `json:"because"` // what missed
}

func p50(s sample) float64 { return s.P50 }
func cpu(s sample) float64 { return s.CPU }
func own(s sample) float64 { return s.CPU - s.Server }

// judge makes the line of a bound from the samples of an operation by candidate.
func judge(b bound, samples map[string][]sample) line {
	a, base, floor, again := samples[b.Name], samples[b.Against], samples[floorName], samples[floorAgainName]
	pair := func(of func(sample) float64) [2]float64 { return [2]float64{medianOf(a, of), medianOf(base, of)} }
	l := line{bound: b,
		P50:         estimateOf(ratios(a, base, p50)),
		Time:        estimateOf(ratios(a, base, cpu)),
		SameP:       estimateOf(ratios(again, floor, p50)),
		SameC:       estimateOf(ratios(again, floor, cpu)),
		Own:         estimateOf(ratios(a, base, own)),
		SameO:       estimateOf(ratios(again, floor, own)),
		P50Micros:   pair(p50),
		CPUMicros:   pair(cpu),
		ServerCPU:   pair(func(s sample) float64 { return s.Server }),
		Counts:      pair(func(s sample) float64 { return s.Allocs }),
		AllocsBytes: pair(func(s sample) float64 { return s.Bytes }),
		Switches:    pair(func(s sample) float64 { return s.Switches }),
		Writes:      pair(func(s sample) float64 { return s.Writes }),
		Asked:       pair(func(s sample) float64 { return s.Requests }),
	}
	if b.Most > 0 {
		l.decide()
	}
	return l
}

// decide sets the verdict. A time is within the bound if the lower end of its
// interval is, and says nothing where two runs of the same code differ by more.
func (l *line) decide() {
	told := false
	for _, m := range l.times() {
		if !tells(m.same, m.most) || l.OnlyP50 && m.name != "p50" || l.OnlyCPU && m.name == "p50" {
			continue
		}
		told = true
		if m.est.Low > m.most {
			l.Because = append(l.Because, m.name)
		}
	}
	if l.Allocs > 0 && l.Counts[0] > l.Allocs*l.Counts[1] {
		l.Because = append(l.Because, "allocations")
	}
	if l.Requests && l.Asked[0] > l.Asked[1]+0.1 {
		l.Because = append(l.Because, "requests")
	}
	switch {
	case len(l.Because) > 0:
		l.Verdict = missed
	case told:
		l.Verdict = met
	default:
		l.Verdict = noisy
	}
}

// A timed is a ratio that is judged, that of the same code, and its bound.
type timed struct {
	name      string
	est, same estimate
	most      float64
}

func (l *line) times() []timed {
	busy := timed{"CPU", l.Time, l.SameC, cmp.Or(l.Both, l.Most)}
	if l.Client > 0 {
		busy = timed{"CPU of the client", l.Own, l.SameO, l.Client}
	}
	return []timed{{"p50", l.P50, l.SameP, l.Most}, busy}
}

// tells says whether a ratio of the same code was close enough to 1 for the bound.
func tells(same estimate, most float64) bool {
	most = max(most, 1/most)
	return same.Low >= 1/most && same.High <= most
}

// judgeAll returns the lines of all bounds for which something was measured.
func judgeAll(r *run) []line {
	var list []line
	for _, b := range bounds(r.setting) {
		if slices.Contains(r.ops, b.Op) {
			list = append(list, judge(b, r.samples[b.Op]))
		}
	}
	return list
}

// text returns the verdict with what missed.
func (l *line) text() string {
	if len(l.Because) == 0 {
		return l.Verdict
	}
	return l.Verdict + " by " + strings.Join(l.Because, ", ")
}
