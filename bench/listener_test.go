package main

import (
	"net"
	"testing"
	"time"
)

// The processor time of whoever listens on a port is that of this process if it does.
func TestCPUOfListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	before, err := cpuOfListener(port)
	if err != nil {
		t.Fatal(err)
	}
	then, err := used()
	if err != nil {
		t.Fatal(err)
	}
	now := then
	for now.since(then).cpu < 300*time.Millisecond {
		if now, err = used(); err != nil {
			t.Fatal(err)
		}
	}
	after, err := cpuOfListener(port)
	if spent := after - before; err != nil || spent < 250*time.Millisecond || spent > 10*time.Second {
		t.Errorf("%s, %v while 300 ms were spent", spent, err)
	}
	l.Close()
	for _, port := range []string{port, "", "x", "70000"} {
		if d, err := cpuOfListener(port); err == nil {
			t.Errorf("nobody listens on the port %q, and has used %s", port, d)
		}
	}
}
