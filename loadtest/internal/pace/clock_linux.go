package pace

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MachineClock waits in the kernel, whose timers are exact to some microseconds.
// The runtime is not told that the thread waits, so that the goroutine keeps its
// right to run: otherwise it would queue for it, at every wait, behind the
// operations that are under way. In exchange the run has one more of these
// rights, so that the operations have as many as before.
//
// The goroutine is not tied to its thread: the runtime interrupts it every 10 ms,
// and taking it up again on the same thread is faster than waking that one.
type MachineClock struct{ procs int }

const (
	longestWait = 20 * time.Millisecond
	slack       = 1000 // nanoseconds by which the kernel may delay a wake-up; its default is 50 µs
)

// Attach gives the run one more right to run.
func (c *MachineClock) Attach() {
	c.procs = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(c.procs + 1)
}

// Detach takes it back.
func (c *MachineClock) Detach() { runtime.GOMAXPROCS(c.procs) }

// Until waits in the kernel.
func (c *MachineClock) Until(t time.Time) {
	for {
		left := time.Until(t)
		if left <= 0 {
			return
		}
		ts := unix.NsecToTimespec(int64(min(left, longestWait)))
		unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, slack, 0) // of this thread
		unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	}
}
