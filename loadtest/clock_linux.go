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
type machineClock struct{ procs int }

const longestWait = 500 * time.Microsecond // so that the collector never waits long for this thread

func (c *machineClock) attach() {
	runtime.LockOSThread()
	c.procs = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(c.procs + 1)
	// The kernel may delay a wake-up by this much to save power; 50 µs by default.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0)
}

func (c *machineClock) detach() {
	runtime.GOMAXPROCS(c.procs)
	runtime.UnlockOSThread()
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
