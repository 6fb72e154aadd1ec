package main

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// A watch looks at how much memory the program's objects take.
type watch struct {
	stop chan struct{}
	done sync.WaitGroup
	peak uint64
}

const heap = "/memory/classes/heap/objects:bytes"

func watchMemory() *watch {
	runtime.GC() // what earlier work left is not counted
	w := &watch{stop: make(chan struct{})}
	w.done.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			sample := []metrics.Sample{{Name: heap}}
			metrics.Read(sample)
			w.peak = max(w.peak, sample[0].Value.Uint64())
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
		}
	})
	return w
}

// end returns the most that was seen, in bytes.
func (w *watch) end() uint64 {
	close(w.stop)
	w.done.Wait()
	return w.peak
}
