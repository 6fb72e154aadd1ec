package loadtest

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machineClock waits in the kernel on a thread of its own. The runtime is not
// told that the thread waits, so that it keeps its right to run: otherwise it
// would queue for it behind the operations that are under way, for up to 10 ms.
// In exchange the run has one more of these rights, so that the operations have
// as many as before.
type machineClock struct {
	procs int
	cpu   time.Duration // of the thread, at attach
}

// longestWait bounds one wait. The collector, which stops all threads for an
// instant, ends a wait early by its signal.
const longestWait = 20 * time.Millisecond

func (c *machineClock) attach() {
	runtime.LockOSThread()
	c.procs = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(c.procs + 1)
	// The kernel may delay a wake-up by this much to save power; 50 µs by default.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0)
	c.cpu = threadTime()
}

func (c *machineClock) detach() (cpu time.Duration) {
	cpu = threadTime() - c.cpu
	runtime.GOMAXPROCS(c.procs)
	runtime.UnlockOSThread()
	return cpu
}

// threadTime returns the processor time of this thread.
func threadTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (c *machineClock) until(t time.Time) {
	for {
		left := time.Until(t)
		if left <= 0 {
			return
		}
		ts := unix.NsecToTimespec(int64(min(left, longestWait)))
		unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	}
}
