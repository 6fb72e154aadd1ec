package main

import (
	"math"
	"strings"
	"testing"
)

func TestEstimate(t *testing.T) {
	tests := []struct {
		values []float64
		want   estimate
	}{
		{[]float64{3}, estimate{3, 3, 3, 0}},
		{[]float64{4, 1, 2}, estimate{2, 1, 4, 0.75}},
		{[]float64{9, 1, 8, 2, 7, 3, 6, 4, 5}, estimate{5, 2, 8, 0.9609375}},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, estimate{5.5, 2, 9, 0.978515625}},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, estimate{6.5, 3, 10, 0.96142578125}},
	}
	for _, tt := range tests {
		got := estimateOf(tt.values)
		if math.Abs(got.Sure-tt.want.Sure) > 1e-12 {
			t.Errorf("estimate of %v is sure to %v, want %v", tt.values, got.Sure, tt.want.Sure)
		}
		got.Sure = tt.want.Sure
		if got != tt.want {
			t.Errorf("estimate of %v: %+v, want %+v", tt.values, got, tt.want)
		}
	}
}

// rounds makes nine samples around a cost, with so much noise to both sides.
func rounds(cost, noise, allocs float64) []sample {
	var list []sample
	for i := range 9 {
		f := cost * (1 + noise*float64(i-4)/4)
		list = append(list, sample{P50: f, CPU: f, Allocs: allocs})
	}
	return list
}

func TestVerdict(t *testing.T) {
	calm, again := rounds(10, 0, 6), rounds(10.2, 0, 6)
	wild := rounds(10, 0.6, 6)
	slowP50 := rounds(12, 0, 6)
	for i := range slowP50 {
		slowP50[i].P50 = 20
	}
	wildP50 := rounds(10, 0.6, 6)
	for i := range wildP50 {
		wildP50[i].CPU = 10
	}
	tests := []struct {
		name         string
		ours, again  []sample
		most         float64
		want, reason string
	}{
		{"as fast as the floor", rounds(10, 0, 6), again, 1.25, met, ""},
		{"just within", rounds(12.4, 0, 6), again, 1.25, met, ""},
		{"just over", rounds(12.6, 0, 6), again, 1.25, missed, "p50, CPU"},
		{"over, but the interval begins within", rounds(13, 0.1, 6), again, 1.25, met, ""},
		{"over in p50 only", slowP50, again, 1.25, missed, "p50"},
		{"over in p50, which cannot tell", slowP50, wildP50, 1.25, met, ""},
		{"over, but nothing can tell", rounds(20, 0, 6), wild, 1.25, noisy, ""},
		{"allocations tell in any noise", rounds(10, 0, 12.5), wild, 1.25, missed, "allocations"},
		{"as many allocations as may be", rounds(10, 0, 12), again, 1.25, met, ""},
		{"a bound below 1", rounds(4, 0, 6), again, 0.45, met, ""},
		{"over a bound below 1", rounds(5, 0, 6), again, 0.45, missed, "p50, CPU"},
	}
	for _, tt := range tests {
		l := judge(bound{Op: opMove, Name: oursName, Against: floorName, Most: tt.most, Allocs: 2}, map[string][]sample{oursName: tt.ours, floorName: calm, floorAgainName: tt.again})
		if reason := strings.Join(l.Because, ", "); l.Verdict != tt.want || reason != tt.reason {
			t.Errorf("%s: %q because of %q, want %q because of %q", tt.name, l.Verdict, reason, tt.want, tt.reason)
		}
	}
}

// Requests and the processor time of the client alone are judged where a bound says so.
func TestVerdictOnServers(t *testing.T) {
	asking := func(n float64) []sample {
		list := rounds(10, 0, 6)
		for i := range list {
			list[i].Requests = n
		}
		return list
	}
	busy := func(client, server float64) []sample {
		list := rounds(10, 0, 6)
		for i := range list {
			list[i].CPU, list[i].Server = client+server, server
		}
		return list
	}
	for _, tt := range []struct {
		name         string
		bound        bound
		ours         []sample
		want, reason string
	}{
		{"one request more", bound{Most: 1.05, Requests: true}, asking(3), missed, "requests"},
		{"one request more in fifty calls", bound{Most: 1.05, Requests: true}, asking(2.02), met, ""},
		{"one request more in five calls", bound{Most: 1.05, Requests: true}, asking(2.2), missed, "requests"},
		{"one request less", bound{Most: 1.05, Requests: true}, asking(1), met, ""},
		{"one request more, which does not matter", bound{Most: 1.05}, asking(3), met, ""},
		{"a tenth more processor time", bound{Most: 1.05}, busy(11, 0), missed, "CPU"},
		{"a tenth more of the client", bound{Most: 1.05, Client: 1.15}, busy(11, 0), met, ""},
		{"a fifth more of the client", bound{Most: 1.05, Client: 1.15}, busy(12, 0), missed, "CPU of the client"},
		{"more of the server only", bound{Most: 1.05, Client: 1.15}, busy(10, 20), met, ""},
	} {
		tt.bound.Op, tt.bound.Name, tt.bound.Against, tt.bound.Allocs = opMove, oursName, floorName, 1.5
		l := judge(tt.bound, map[string][]sample{oursName: tt.ours, floorName: asking(2), floorAgainName: asking(2)})
		if reason := strings.Join(l.Because, ", "); l.Verdict != tt.want || reason != tt.reason {
			t.Errorf("%s: %q because of %q, want %q because of %q", tt.name, l.Verdict, reason, tt.want, tt.reason)
		}
	}
}

func TestBounds(t *testing.T) {
	for _, s := range settings {
		judged := map[string]int{}
		for _, b := range bounds(s) {
			if b.Most > 0 {
				judged[b.Op]++
			}
		}
		for _, op := range s.work().operations {
			want := 2
			if s.Store != "" || s.Work == treesName {
				want = 1 // it has no floor that covers
			}
			if op != opMix && judged[op] < want {
				t.Errorf("%s: %d bounds for %s, want one for each kind of index", s.Name, judged[op], op)
			}
		}
	}
}
