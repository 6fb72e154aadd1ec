package testserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

const (
	patience = 2 * time.Minute  // for the first answer of a server
	answer   = 10 * time.Second // for one round trip
	farewell = time.Minute      // for the end of a server that was told to stop
)

// A process is a server that this package started, native or in a container.
type process interface {
	// start runs the server on the data it has. The channel is closed when it has ended.
	start() (<-chan struct{}, error)
	// signal sends the server a signal and does not wait.
	signal(syscall.Signal) error
	// tail returns the last lines of its log.
	tail() string
	// remove removes what the guard's folder does not hold.
	remove() error
}

// up starts the server and waits until it can be used.
func (s *Server) up(ctx context.Context) error {
	ended, err := s.process.start()
	if err != nil {
		return fmt.Errorf("testserver: start %s at %s: %w", s.Store, s.Addr, err)
	}
	s.ended = ended
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	usable := make(chan error, 1)
	go func() { usable <- s.awaitUsable(ctx) }()
	select {
	case err = <-usable:
	case <-ended:
	}
	select {
	case <-ended: // and what answered, if anything did, is another server
		return s.failure(errors.New("it ended before it answered"))
	default:
	}
	if err != nil {
		return s.failure(fmt.Errorf("it did not answer within %s: %w", patience, err))
	}
	return nil
}

// awaitUsable tries until the server is usable or ctx ends.
func (s *Server) awaitUsable(ctx context.Context) error {
	for {
		err := s.usable(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Server) usable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	// Until something listens the drivers are not asked: they wait, and log what they wait for.
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return err
	}
	conn.Close()
	if err := s.kind.prepare(ctx, s.Addr); err != nil {
		return err
	}
	return s.kind.check(ctx, s.URL)
}

func (s *Server) failure(err error) error {
	return fmt.Errorf("testserver: start %s at %s: %w; the end of its log:\n%s", s.Store, s.Addr, err, s.process.tail())
}

// end sends the signal to the server, if it runs, and waits until it has ended.
func (s *Server) end(sig syscall.Signal) error {
	select {
	case <-s.ended:
		return nil
	default:
	}
	if err := s.process.signal(sig); err != nil {
		return fmt.Errorf("testserver: stop %s at %s: %w", s.Store, s.Addr, err)
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(farewell):
		return fmt.Errorf("testserver: stop %s at %s: it still runs after %s; the end of its log:\n%s",
			s.Store, s.Addr, farewell, s.process.tail())
	}
}

// close kills a server that was started here and removes what it left.
func (s *Server) close() error {
	if s.process == nil {
		return nil
	}
	if err := errors.Join(s.process.remove(), s.guard.close()); err != nil {
		return fmt.Errorf("testserver: remove %s at %s: %w", s.Store, s.Addr, err)
	}
	return nil
}
