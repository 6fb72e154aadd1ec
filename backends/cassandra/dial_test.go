package cassandra_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// nobody returns an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// That the time of a call was over does not hide why it was: nobody listens.
func TestDeadServerIsNamed(t *testing.T) {
	t.Parallel()
	for _, deadline := range []time.Duration{300 * time.Millisecond, time.Minute} {
		err := backendtest.NamesRefusal(t, deadline, func(ctx context.Context) error {
			_, err := cassandra.Open(ctx, "cassandra://"+nobody(t)+"/k")
			return err
		})
		if err != nil {
			t.Errorf("open: %v", err)
		}
	}
}

// A store of Open whose server is gone says that nobody listens, with a deadline or
// without.
func TestLostServerIsNamed(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Cassandra)
	s, ts := open(t, "cassandra://"+server.Addr+"/k?replication=1")
	server.Kill9(t)
	key := ts.key(t, "ann", "1")
	for begun := time.Now(); ; { // connections that are there take their time to break
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		err := s.Get(ctx, ts.posts, []driver.Key{key}, nil, make([]driver.Row, 1))
		cancel()
		if errors.Is(err, driver.ErrUnavailable) && strings.Contains(err.Error(), "connection refused") {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("get: %v, want ErrUnavailable and that the connection was refused", err)
		}
	}
}

// With local=true no other machine is connected to, whoever names it.
func TestLocal(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"192.0.2.1", "127.0.0.1,192.0.2.1", "127.0.0.1:9042@192.0.2.1", "u:pw@[2001:db8::1]:9042", "nosuch.invalid", "127.0.0.1.nosuch.invalid"} {
		if _, err := cassandra.Open(t.Context(), "cassandra://"+where+"/k?local=true"); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "not on this machine") {
			t.Errorf("open %s: %v, want ErrInvalid", where, err)
		}
	}
}
