package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"time"

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
	for try := 1; ; try++ {
		conn, err := t.dialOnce(ctx, network, addr)
		if err == nil {
			return conn, nil
		}
		if try == t.tries || errors.Is(err, address.ErrElsewhere) || frame.Sleep(ctx, dialPause) != nil {
			return &broken{err}, nil
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

// A broken connection is one that could not be made.
type broken struct{ err error }

// A cause is why a connection could not be made. The client takes the outermost error off.
type cause struct{ error }

func (c cause) Unwrap() error { return c.error }

func (b *broken) Read([]byte) (int, error)  { return 0, cause{b.err} }
func (b *broken) Write([]byte) (int, error) { return 0, cause{b.err} }

// SyscallConn fails, by which the client notices that a connection in its pool is broken.
func (b *broken) SyscallConn() (syscall.RawConn, error) { return nil, b.err }

func (*broken) Close() error                     { return nil }
func (*broken) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*broken) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*broken) SetDeadline(time.Time) error      { return nil }
func (*broken) SetReadDeadline(time.Time) error  { return nil }
func (*broken) SetWriteDeadline(time.Time) error { return nil }
