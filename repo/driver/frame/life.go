package frame

import (
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A life is that of a store: calls are made until it is closed, and closing waits for
// those under way.
type life struct {
	closed error
	calls  sync.RWMutex // held for reading by calls under way
	end    func() error
}

// begin begins a life. End is called once, when the last call has left.
func (l *life) begin(name Name, end func() error) {
	l.closed = name.Wrap(driver.ErrClosed)
	l.end = sync.OnceValue(func() error {
		l.calls.Lock() // for good: from now on no call can enter
		return end()
	})
}

// enter begins a call. It returns ErrClosed when close has begun. Without an error the caller
// must leave.
func (l *life) enter() error {
	if !l.calls.TryRLock() {
		return l.closed
	}
	return nil
}

func (l *life) leave() { l.calls.RUnlock() }

// close waits for calls under way and ends the life, once. It returns the same error
// every time.
func (l *life) close() error { return l.end() }
