package loadtest

import (
	"context"
	"sync"
	"time"
)

// A sample is what became of one operation. Its times in nanoseconds add up to
// its response time, which counts from the instant at which it was due.
type sample struct {
	lag     int64 // late although a slot was free: the clock's fault
	wait    int64 // all slots were busy
	service int64
	at      uint16 // index of the query
	outcome outcome
}

func (s *sample) response() int64 { return s.lag + s.wait + s.service }

// A bench sends operations at fixed instants, whether or not earlier ones have
// been answered, and measures them. None is left out: one that finds all slots
// busy waits for one.
type bench struct {
	clock   clock
	rate    int           // operations a second
	slots   int           // operations that may be under way at once
	grace   time.Duration // how long operations may go on behind the last instant
	shares  bool          // the store is in this process: see split
	samples []sample      // of the last round, by operation; reused
	due     []int64       // when the clock released each, from the start
	cpu     time.Duration // that the clock took in the last round
}

const lead = 20 * time.Millisecond // from the call to the first instant

// run does n operations. Do sends the i-th and returns its query and outcome. The
// samples are valid until the next run. Took is the time from the first instant
// to the end of the last operation.
func (b *bench) run(ctx context.Context, n int, do func(ctx context.Context, i int) (at int, o outcome)) (took time.Duration) {
	b.samples = resized(b.samples, n)
	b.due = resized(b.due, n)
	queue := make(chan int, n) // never full, so that the clock never waits
	start := time.Now().Add(lead)
	opCtx, stop := context.WithCancel(ctx)
	defer stop()
	var slots sync.WaitGroup
	for range b.slots {
		slots.Go(func() { b.slot(opCtx, start, queue, do) })
	}
	slots.Go(func() {
		b.release(ctx, start, n, queue)
		close(queue)
	})
	last := start.Add(b.instant(n - 1))
	cut := time.AfterFunc(time.Until(last.Add(b.grace)), stop)
	defer cut.Stop()
	slots.Wait()
	return time.Since(start)
}

func resized[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, n)
	}
	list = list[:n]
	clear(list)
	return list
}

// instant returns when the i-th operation is due, from the start.
func (b *bench) instant(i int) time.Duration {
	return time.Duration(int64(i) * int64(time.Second) / int64(b.rate))
}

// release queues each operation at its instant. It is alone on its thread.
func (b *bench) release(ctx context.Context, start time.Time, n int, queue chan<- int) {
	b.clock.attach()
	defer func() { b.cpu = b.clock.detach() }()
	for i := range n {
		if ctx.Err() != nil {
			return
		}
		b.clock.until(start.Add(b.instant(i)))
		b.due[i] = int64(time.Since(start))
		queue <- i
	}
}

// slot does one operation after the other. When the round is cut off, those that
// are left are noted as unfinished.
func (b *bench) slot(ctx context.Context, start time.Time, queue <-chan int, do func(context.Context, int) (int, outcome)) {
	free := int64(time.Since(start))
	for i := range queue {
		begin := int64(time.Since(start))
		at, o := do(ctx, i)
		end := int64(time.Since(start))
		s := &b.samples[i]
		s.at, s.outcome = uint16(at), o
		s.lag, s.wait = b.split(int64(b.instant(i)), b.due[i], free, begin)
		s.service = end - begin
		free = end
	}
}

// split divides the time from the instant to the beginning of an operation into
// lag and wait. Due is when the clock released it, free when the slot that took
// it became free. Slots are served in the order in which they became free, so a
// slot that became free after the release means that until then all were busy.
//
// A store in this process shares the processors with its callers: there a slot
// is free only with a processor to run it, and all delay behind the release is
// wait, as it would be in the service that embeds the store.
func (b *bench) split(instant, due, free, begin int64) (lag, wait int64) {
	if b.shares {
		return due - instant, begin - due
	}
	if free > due {
		wait = free - due
	}
	return begin - instant - wait, wait
}
