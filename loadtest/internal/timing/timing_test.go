package timing

import (
	"testing"
	"time"
)

func TestShared(t *testing.T) {
	list := []time.Duration{2, 7, 3, 4, 6}
	for workers, want := range map[int]time.Duration{0: 22, 1: 22, 2: 12, 3: 8, 9: 7} {
		if got := Shared(list, workers); got != want {
			t.Errorf("%d workers take %d, want %d", workers, got, want)
		}
	}
	if got := Shared(nil, 2); got != 0 {
		t.Errorf("nothing takes %d", got)
	}
}

func TestRounds(t *testing.T) {
	const s = time.Second
	for _, x := range []struct {
		rounds int
		round  time.Duration
		beside time.Duration
		load   float64
		want   time.Duration
	}{
		{6, 2 * s, s / 10, 0.9, 13*s + 7*s/10},
		{6, 2 * s, 0, 1.5, 1500*time.Millisecond + 4*3*s}, // all calls are done
		{6, 2 * s, s, 9, 3*s + 4*4*s + 5*s},               // they are cut off
		{2, 4 * s, 0, 9, 6*s + 2*8*s},
	} {
		if got := Rounds(x.rounds, x.round, x.beside, x.load); got != x.want {
			t.Errorf("%d rounds of %v at %v of the processors take %v, want %v", x.rounds, x.round, x.load, got, x.want)
		}
	}
}

func TestCalls(t *testing.T) {
	for _, x := range []struct {
		each time.Duration
		n    int
		want time.Duration
	}{{10, 30, 300}, {10, 300, 1000}, {400, 300, 2000}, {400, 3, 1200}} {
		if got := Calls(x.each, x.n, 5, 1000); got != x.want {
			t.Errorf("%d calls of %d take %d, want %d", x.n, x.each, got, x.want)
		}
	}
}
