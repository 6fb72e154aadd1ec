package main

import (
	"bytes"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
	"time"
)

// A usage is what the program took at some time, in bytes.
type usage struct {
	heap     uint64 // of objects, dead ones that are not collected yet too
	resident uint64 // by the system's account, with the caches of a store in this process; 0 if it is unknown
}

// since returns how much more m is than another one.
func (m usage) since(o usage) usage {
	return usage{m.heap - min(m.heap, o.heap), m.resident - min(m.resident, o.resident)}
}

// A watch looks at the most memory that the program takes.
type watch struct {
	before usage
	stop   chan struct{}
	done   sync.WaitGroup
	peak   uint64
}

// watchMemory begins, when what earlier work left is collected.
func watchMemory() *watch {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // VmHWM begins anew; where it cannot, it is too high
	w := &watch{before: usage{heapNow(), status("VmRSS:")}, stop: make(chan struct{})}
	w.done.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			w.peak = max(w.peak, heapNow())
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
		}
	})
	return w
}

// end returns the most that was seen beyond what there was before.
func (w *watch) end() usage {
	close(w.stop)
	w.done.Wait()
	return usage{w.peak, status("VmHWM:")}.since(w.before)
}

func heapNow() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// status returns a size that Linux tells of this process, 0 if there is none.
func status(name string) uint64 {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(data) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == name {
			kib, _ := strconv.ParseUint(string(f[1]), 10, 64)
			return kib << 10
		}
	}
	return 0
}
