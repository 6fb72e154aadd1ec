package backend

import (
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A Life is that of a store: calls are made until it is closed, and closing waits for
// those under way.
type Life struct {
	closed error
	calls  sync.RWMutex // held for reading by calls under way
	end    func() error
}

// Begin begins a life. Close is called once, when the last call has left.
func (l *Life) Begin(name Name, end func() error) {
	l.closed = name.Wrap(driver.ErrClosed)
	l.end = sync.OnceValue(func() error {
		l.calls.Lock() // for good: from now on no call can enter
		return end()
	})
}

// Enter begins a call, unless its context is over, of which it takes the error. It
// returns ErrClosed when Close has begun. Without an error the caller must Leave.
func (l *Life) Enter(over error) error {
	if over != nil {
		return over
	}
	if !l.calls.TryRLock() {
		return l.closed
	}
	return nil
}

// Leave ends a call.
func (l *Life) Leave() { l.calls.RUnlock() }

// Close waits for calls under way and ends the life, once. It returns the same error
// every time.
func (l *Life) Close() error { return l.end() }
