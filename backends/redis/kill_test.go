package redis_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// A server that is killed while it writes has lost nothing that it acknowledged,
// and its indexes are in step.
func TestKilledServerSyncingAlways(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t, "--appendfsync", "always")
	l, _ := backendtest.Killed(t, server, s, ts, 700*time.Millisecond)
	if lost := l.Lost(t, s, ts); len(lost) > 0 || len(l.Acked) < 50 {
		t.Errorf("%d of %d acknowledged commits are lost: %v", len(lost), len(l.Acked), lost[:min(len(lost), 5)])
	}
	if class := s.Facts().Durability; class != driver.Power {
		t.Errorf("the class is %s, want power", class)
	}
	t.Logf("%d acknowledged, %d unknown, none lost", len(l.Acked), len(l.Unknown))
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "after"))
}

// Without a sync the log is written before each answer, so that a server that is killed
// has lost nothing.
func TestKilledServerWithoutSync(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t, "--appendfsync", "no")
	l, _ := backendtest.Killed(t, server, s, ts, 700*time.Millisecond)
	if lost := l.Lost(t, s, ts); len(lost) > 0 || len(l.Acked) < 50 {
		t.Errorf("%d of %d acknowledged commits are lost", len(lost), len(l.Acked))
	}
	if f := s.Facts(); f.Durability != driver.Process || f.Delay != 0 {
		t.Errorf("the class is %s with a delay of %s, want process", f.Durability, f.Delay)
	}
}

// With everysec only what was acknowledged within Facts.Delay may be lost. Whether
// anything is lost is chance: it is if a sync is under way when the server is killed.
func TestKilledServerSyncingEverySecond(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t, "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0")
	f := s.Facts()
	if f.Durability != driver.Delayed || f.Delay <= 0 {
		t.Errorf("the class is %s with a delay of %s, want delayed", f.Durability, f.Delay)
	}
	done := keepLogBusy(t, server.Addr)
	l, at := backendtest.Killed(t, server, s, ts, 3*time.Second)
	done()
	lost, oldest := l.Lost(t, s, ts), time.Duration(0)
	for _, id := range lost {
		oldest = max(oldest, at.Sub(l.Acked[id]))
	}
	if oldest > f.Delay+time.Second {
		t.Errorf("a commit that was acknowledged %s before the server was killed is lost, and the delay is %s", oldest, f.Delay)
	}
	if len(l.Acked) < 50 {
		t.Errorf("%d commits were acknowledged: too few to tell", len(l.Acked))
	}
	t.Logf("%d acknowledged, %d unknown, %d lost, the oldest of them %s before the end", len(l.Acked), len(l.Unknown), len(lost), oldest)
}

// keepLogBusy writes large values to a server, so that a sync of its log lasts, until the
// function that it returns is called.
func keepLogBusy(t *testing.T, addr string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	value := strings.Repeat("x", 256<<10)
	for i := range 2 {
		client := raw(t, addr)
		wg.Go(func() {
			for ctx.Err() == nil && client.Set(ctx, "filler"+strconv.Itoa(i), value, 0).Err() == nil {
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// The control: without a log all is lost, and the test sees it.
func TestKilledServerWithoutLog(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t, "--appendonly", "no")
	l, _ := backendtest.Killed(t, server, s, ts, 500*time.Millisecond)
	if lost := l.Lost(t, s, ts); len(lost) != len(l.Acked) || len(lost) < 50 {
		t.Errorf("%d of %d acknowledged commits are lost, want all", len(lost), len(l.Acked))
	}
	if s.Facts().Durability != driver.Memory {
		t.Errorf("the class is %s, want memory", s.Facts().Durability)
	}
}
