package wire

import (
	"net"
	"syscall"
	"time"
)

// A Broken connection is one that could not be made.
type Broken struct{ Err error }

// A cause is why a connection could not be made. The client takes the outermost error off.
type cause struct{ error }

func (c cause) Unwrap() error { return c.error }

func (b *Broken) Read([]byte) (int, error)  { return 0, cause{b.Err} }
func (b *Broken) Write([]byte) (int, error) { return 0, cause{b.Err} }

// SyscallConn fails, by which the client notices that a connection in its pool is broken.
func (b *Broken) SyscallConn() (syscall.RawConn, error) { return nil, b.Err }

func (*Broken) Close() error                     { return nil }
func (*Broken) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*Broken) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*Broken) SetDeadline(time.Time) error      { return nil }
func (*Broken) SetReadDeadline(time.Time) error  { return nil }
func (*Broken) SetWriteDeadline(time.Time) error { return nil }
