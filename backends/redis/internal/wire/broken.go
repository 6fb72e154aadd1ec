package wire

import (
	"net"
	"syscall"
	"time"
)

// Broken returns a connection that could not be made.
func Broken(err error) net.Conn { return &broken{err} }

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
