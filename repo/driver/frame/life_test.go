package frame

import (
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Close waits for calls under way, lets no other in, and ends the life once.
func TestLife(t *testing.T) {
	var life life
	ends := 0
	life.begin(who, func() error { ends++; return io.ErrUnexpectedEOF })
	if err := life.enter(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 2)
	for range cap(closed) {
		go func() { closed <- life.close() }()
	}
	refused := life.enter()
	for begun := time.Now(); refused == nil && time.Since(begun) < 10*time.Second; refused = life.enter() {
		life.leave()
		runtime.Gosched()
	}
	if !errors.Is(refused, driver.ErrClosed) {
		t.Fatalf("a call during Close: %v, want ErrClosed", refused)
	}
	if len(closed) > 0 {
		t.Error("Close does not wait for a call under way")
	}
	life.leave()
	for range cap(closed) {
		if err := <-closed; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("close: %v, want the error of the end", err)
		}
	}
	if err := life.enter(); !errors.Is(err, driver.ErrClosed) || ends != 1 {
		t.Errorf("a call after Close: %v, want ErrClosed; it ended %d times", err, ends)
	}
}
