package toxic_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/internal/toxic"
)

const quiet = 150 * time.Millisecond // how long nothing must come

// An echo is a server that sends back what it reads, and counts it.
type echo struct {
	addr string
	read atomic.Int64
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	e := &echo{addr: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go e.serve(c)
		}
	}()
	return e
}

func (e *echo) serve(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 100)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		e.read.Add(int64(n))
		c.Write(buf[:n])
	}
}

func dial(t *testing.T, p *toxic.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp4", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// say sends a byte and returns how long the answer took, for which it waits as long
// as most.
func say(c net.Conn, most time.Duration) (time.Duration, error) {
	begun := time.Now()
	c.SetDeadline(begun.Add(most))
	if _, err := c.Write([]byte("a")); err != nil {
		return 0, err
	}
	_, err := c.Read(make([]byte, 1))
	return time.Since(begun), err
}

func mustSay(t *testing.T, c net.Conn) {
	t.Helper()
	if took, err := say(c, 5*time.Second); err != nil {
		t.Fatalf("no answer after %s: %v", took, err)
	}
}

// start has a connection that works, which is the control of all the others.
func start(t *testing.T) (*echo, *toxic.Proxy, net.Conn) {
	t.Helper()
	e := newEcho(t)
	p := toxic.New(t, e.addr)
	c := dial(t, p)
	mustSay(t, c)
	return e, p, c
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

func TestDelay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		way   toxic.Way
		least time.Duration
	}{{toxic.Requests, quiet}, {toxic.Answers, quiet}, {toxic.Both, 2 * quiet}} {
		_, p, c := start(t)
		p.Set(toxic.Fault{Kind: toxic.Delay, Way: tt.way, Time: quiet})
		if took, err := say(c, 5*time.Second); err != nil || took < tt.least {
			t.Errorf("%s: %s, %v; want %s", tt.way, took, err, tt.least)
		}
		p.Heal()
		took, err := say(c, 5*time.Second)
		for n := 0; n < 20 && err == nil && took >= tt.least; n++ { // the machine may be busy
			took, err = say(c, 5*time.Second)
		}
		if err != nil || took >= tt.least {
			t.Errorf("%s: healed, and each answer took %s, %v", tt.way, took, err)
		}
	}
}

// What is dropped never comes, what is held comes when the trouble is over; the
// server sees the one and the other of answers.
func TestDropAndHold(t *testing.T) {
	t.Parallel()
	for _, kind := range []toxic.Kind{toxic.Drop, toxic.Hold} {
		for _, way := range []toxic.Way{toxic.Both, toxic.Requests, toxic.Answers} {
			e, p, c := start(t)
			p.Set(toxic.Fault{Kind: kind, Way: way})
			if _, err := say(c, quiet); !isTimeout(err) {
				t.Errorf("%s %s: %v, want silence", kind, way, err)
			}
			if got := e.read.Load() == 2; got != (way == toxic.Answers) {
				t.Errorf("%s %s: the server has read %d bytes", kind, way, e.read.Load())
			}
			p.Heal()
			c.SetDeadline(time.Now().Add(5 * time.Second))
			n, err := c.Read(make([]byte, 1))
			if kind == toxic.Hold && n != 1 || kind == toxic.Drop && !errors.Is(err, io.EOF) {
				t.Errorf("%s %s: %d bytes and %v when it was over", kind, way, n, err)
			}
			mustSay(t, dial(t, p))
		}
	}
}

// A request that was held reaches the server also when the client has gone.
func TestHeldWithoutItsSender(t *testing.T) {
	t.Parallel()
	e, p, c := start(t)
	p.Set(toxic.Fault{Kind: toxic.Hold, Way: toxic.Requests})
	say(c, quiet)
	c.Close()
	time.Sleep(quiet)
	if n := e.read.Load(); n != 1 {
		t.Fatalf("the server has read %d bytes before", n)
	}
	p.Heal()
	for begun := time.Now(); e.read.Load() != 2 && time.Since(begun) < 5*time.Second; {
		time.Sleep(time.Millisecond)
	}
	if n := e.read.Load(); n != 2 {
		t.Errorf("the server has read %d bytes, want 2", n)
	}
}

// Connections are ended by Cut and reset by Reset, also in the middle of silence.
func TestCutAndReset(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind  toxic.Kind
		first error
	}{{toxic.Cut, io.EOF}, {toxic.Reset, syscall.ECONNRESET}} {
		_, p, c := start(t)
		p.Set(toxic.Fault{Kind: tt.kind})
		c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, tt.first) {
			t.Errorf("%s: %v, want %v", tt.kind, err, tt.first)
		}
		if _, err := say(dial(t, p), 5*time.Second); err == nil || isTimeout(err) {
			t.Errorf("%s: a new connection: %v, want it ended", tt.kind, err)
		}
		p.Heal()
		mustSay(t, dial(t, p))
	}
}

// Nothing of a proxy is left when it is closed, whatever it was at.
func TestClose(t *testing.T) {
	e := newEcho(t)
	for _, kind := range []toxic.Kind{toxic.None, toxic.Delay, toxic.Hold, toxic.Drop} {
		p := toxic.New(t, e.addr)
		c := dial(t, p)
		mustSay(t, c)
		if n := p.Links(); n != 1 {
			t.Errorf("%d links, want 1", n)
		}
		p.Set(toxic.Fault{Kind: kind, Time: time.Hour})
		c.Write([]byte("a"))
		p.Close()
		buf := make([]byte, 1<<20)
		if text := string(buf[:runtime.Stack(buf, true)]); strings.Contains(text, "toxic.(*link)") || p.Links() != 0 {
			t.Errorf("%s: %d links after Close, goroutines:\n%s", kind, p.Links(), text)
		}
	}
}

// A seed makes the same trouble again, all kinds of it, and the network is healed
// when it is over.
func TestStorm(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	var runs [2][]toxic.Fault
	p := toxic.New(t, e.addr)
	for i := range runs {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		runs[i] = p.Storm(ctx, 7)
		cancel()
		mustSay(t, dial(t, p))
	}
	kinds := map[toxic.Kind]bool{}
	for _, f := range runs[0] {
		kinds[f.Kind] = true
	}
	n := min(len(runs[0]), len(runs[1]))
	if n < 10 || len(kinds) != 5 {
		t.Fatalf("%d faults of %d kinds: %v", n, len(kinds), runs[0])
	}
	if diff := cmp.Diff(runs[0][:n], runs[1][:n]); diff != "" {
		t.Errorf("the same seed made other trouble:\n%s", diff)
	}
}
