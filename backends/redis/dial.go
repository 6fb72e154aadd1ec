package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver/address"
	"github.com/polystore/polystore/repo/driver/frame"
)

// How often a connection is tried to be made, and the pause between two attempts.
const (
	dialTries = 5
	dialPause = 100 * time.Millisecond
)

// dial makes a connection for the client. It never fails: go-redis writes each failure to
// standard error, by a logger that all clients of the program share. Instead it returns a
// connection that is broken, on which the client's first word to the server fails.
func (t *target) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	tries := dialTries
	if t.own.IsClusterMode || t.own.TLSConfig != nil {
		tries = 1 // others know who has the slots of a server that is gone; a handshake that fails does so again
	}
	for try := 1; ; try++ {
		conn, err := t.dialOnce(ctx, network, addr)
		if err == nil {
			return conn, nil
		}
		if try == tries || errors.Is(err, address.ErrElsewhere) || frame.Sleep(ctx, dialPause) != nil {
			return wire.Broken(err), nil
		}
	}
}

func (t *target) dialOnce(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := t.access.Dialer.DialContext(ctx, network, addr)
	if err != nil || t.own.TLSConfig == nil {
		return conn, err
	}
	secure := tls.Client(conn, t.own.TLSConfig)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		t.access.Dialer.Note(err)
		return nil, err
	}
	return secure, nil
}
