package backend_test

import (
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// Close waits for calls under way, lets no other in, and ends the life once.
func TestLife(t *testing.T) {
	var life backend.Life
	ends := 0
	life.Begin(who, func() error { ends++; return io.ErrUnexpectedEOF })
	if err := life.Enter(io.EOF); !errors.Is(err, io.EOF) {
		t.Errorf("a call whose context is over: %v, want its error", err)
	}
	if err := life.Enter(nil); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 2)
	for range cap(closed) {
		go func() { closed <- life.Close() }()
	}
	refused := life.Enter(nil)
	for begun := time.Now(); refused == nil && time.Since(begun) < 10*time.Second; refused = life.Enter(nil) {
		life.Leave()
		runtime.Gosched()
	}
	if !errors.Is(refused, driver.ErrClosed) {
		t.Fatalf("a call during Close: %v, want ErrClosed", refused)
	}
	if len(closed) > 0 {
		t.Error("Close does not wait for a call under way")
	}
	life.Leave()
	for range cap(closed) {
		if err := <-closed; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("close: %v, want the error of the end", err)
		}
	}
	if err := life.Enter(nil); !errors.Is(err, driver.ErrClosed) || ends != 1 {
		t.Errorf("a call after Close: %v, want ErrClosed; it ended %d times", err, ends)
	}
}
