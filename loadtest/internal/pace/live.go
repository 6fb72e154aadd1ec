package pace

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
)

// A Live is what the operations of a round gave that have been answered so far.
type Live struct {
	Answered int
	Failed   int           // of them, also those that were cut off
	Took     time.Duration // since the first instant
	Left     time.Duration // until the last instant
	P50, P99 time.Duration // of the response time
}

// Rate returns the operations answered in a second.
func (l *Live) Rate() int { return int(float64(l.Answered) / max(l.Took.Seconds(), 1e-9)) }

const lookEvery = 500 * time.Millisecond

// A look follows the operations of a round. It reads what the slots have noted and takes no lock.
type look struct {
	b     *Bench
	next  int   // the first operation that has not been looked at
	open  []int // those before it that were not answered
	times *hdrhistogram.Histogram
	Live
}

func (b *Bench) watched() bool { return b.Watch != nil || b.Each != nil }

// watch tells Watch and Each of the round while it goes on. The function that it returns ends that when all operations
// have been told, and waits for the end.
func (b *Bench) watch() (end func()) {
	if !b.watched() {
		return func() {}
	}
	ended := make(chan struct{})
	var w sync.WaitGroup
	w.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		l := look{b: b, times: hdrhistogram.New(1000, limit.LongestTime, 3)}
		for {
			select {
			case <-ended:
				l.again()
				return
			case <-tick.C:
				if now := l.again(); b.Watch != nil {
					b.Watch(now)
				}
			}
		}
	})
	return func() {
		close(ended)
		w.Wait()
	}
}

// again looks at what has been answered since the last time.
func (l *look) again() Live {
	for ; l.next < int(min(l.b.next.Load(), int64(len(l.b.Samples)))); l.next++ {
		l.open = append(l.open, l.next)
	}
	still := l.open[:0]
	for _, i := range l.open {
		if !l.b.done[i].Load() {
			still = append(still, i)
			continue
		}
		s := &l.b.Samples[i]
		_ = l.times.RecordValue(min(max(s.Response(), 0), limit.LongestTime)) // never out of range
		if l.b.Each != nil {
			l.b.Each(s)
		}
		if l.Answered++; s.Outcome == operation.Failed || s.Outcome == operation.Unfinished {
			l.Failed++
		}
	}
	l.open = still
	l.Took = max(time.Duration(l.b.now()), 0)
	l.Left = max(l.b.last()-l.Took, 0)
	l.P50, l.P99 = time.Duration(l.times.ValueAtQuantile(50)), time.Duration(l.times.ValueAtQuantile(99))
	return l.Live
}
