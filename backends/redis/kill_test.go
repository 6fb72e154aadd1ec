package redis_test

import (
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
	t.Logf("%d acknowledged, %d unknown, none lost", len(l.Acked), len(l.Unknown))
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "after"))
}

// With everysec the server may put off appending while the disk syncs, for two
// seconds at most: only commits of that time may be missing.
func TestKilledServerSyncingEverySecond(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t, "--appendfsync", "everysec")
	l, at := backendtest.Killed(t, server, s, ts, 3*time.Second)
	lost := l.Lost(t, s, ts)
	for _, id := range lost {
		if age := at.Sub(l.Acked[id]); age > 2500*time.Millisecond {
			t.Errorf("%s was acknowledged %s before the server was killed, and is lost", id, age)
		}
	}
	if len(l.Acked) < 50 {
		t.Errorf("%d commits were acknowledged: too few to tell", len(l.Acked))
	}
	t.Logf("%d acknowledged, %d unknown, %d lost", len(l.Acked), len(l.Unknown), len(lost))
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
