package pace

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
)

// A bubble that ends with a goroutine left fails the test.
func TestLiveTellsWhatWasMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Live
		b := &Bench{Clock: sleeper{}, Rate: 100, Slots: 4, Grace: time.Second, Watch: func(l Live) { told = append(told, l) }}
		b.Run(t.Context(), 200, func(_ context.Context, i int) (int, operation.Outcome) {
			time.Sleep(3 * time.Millisecond)
			if i%10 == 0 {
				return 0, operation.Failed
			}
			return 0, operation.Done
		})
		if len(told) < 3 {
			t.Fatalf("%d looks in two seconds", len(told))
		}
		l := told[2]
		if l.Answered < 145 || l.Answered > 150 || l.Failed != 15 || l.Rate() < 95 || l.Rate() > 102 {
			t.Errorf("after %v: %d answered, %d failed, %d a second", l.Took, l.Answered, l.Failed, l.Rate())
		}
		if l.P50 < 3*time.Millisecond || l.P99 > 4*time.Millisecond || l.Took+l.Left != 1990*time.Millisecond {
			t.Errorf("p50 %v, p99 %v, %v and %v left", l.P50, l.P99, l.Took, l.Left)
		}
	})
}

// Each operation of a round is told once, also those that were answered after the last look.
func TestEachIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told [3]int
		b := &Bench{Clock: sleeper{}, Rate: 100, Slots: 4, Grace: time.Second, Each: func(s *Sample) {
			told[s.At]++
			if s.Response() < int64(3*time.Millisecond) {
				t.Errorf("a response in %d ns", s.Response())
			}
		}}
		for range 2 {
			b.Run(t.Context(), 175, func(_ context.Context, i int) (int, operation.Outcome) {
				time.Sleep(3 * time.Millisecond)
				return i % 3, operation.Done
			})
		}
		if told != [3]int{118, 116, 116} {
			t.Errorf("told of %v operations, want 118, 116 and 116", told)
		}
	})
}

// BenchmarkNoted has what an operation costs the round with and without somebody who watches.
func BenchmarkNoted(b *testing.B) {
	for name, watch := range map[string]func(Live){"alone": nil, "watched": func(Live) {}} {
		b.Run(name, func(b *testing.B) {
			var n atomic.Int64
			bench := &Bench{Clock: sleeper{}, Rate: 1e9, Slots: 1, Grace: time.Minute, Watch: watch}
			bench.Run(b.Context(), b.N, func(context.Context, int) (int, operation.Outcome) {
				n.Add(1)
				return 0, operation.Done
			})
		})
	}
}
