// Package ownserver runs a server of a store as a process of this machine, for programs that want to kill it, start it
// again and let it stand still. The name of a store and a folder come in; a URL goes out.
package ownserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const (
	patience = 2 * time.Minute // until a server answers: a busy machine is slow
	pause    = 50 * time.Millisecond
)

// A Server is one that this program has started, and that nobody else knows of. It ends with the program, on Linux
// however that ends.
type Server struct {
	URL string

	name    string
	addr    string
	log     string
	words   []string // the command
	argv0   string   // by which it is called
	prepare func(ctx context.Context, addr string) error

	mu    sync.Mutex
	child *os.Process
	ended chan struct{} // closed when the child has
}

// Start starts a server of a store with its data in a folder, and returns when it answers. More are arguments for the
// server behind its own. Script is the file scripts/servers of this module's source; where it is "", the program of the
// server must be in the PATH.
func Start(ctx context.Context, store string, more []string, script, dir string) (*Server, error) {
	r, ok := recipes[store]
	if !ok {
		return nil, fmt.Errorf("no server of %q can be started; want redis, mongo or cassandra", store)
	}
	host, port, err := freeAddress()
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	s := &Server{name: store, addr: net.JoinHostPort(host, port), log: filepath.Join(dir, "log"), prepare: r.prepare}
	s.URL = fmt.Sprintf(r.url, s.addr)
	if s.words, s.argv0, err = r.command(store, script, data, host, port); err != nil {
		return nil, err
	}
	s.words = append(append(s.words, r.more...), more...)
	if err := s.Start(); err != nil {
		return nil, err
	}
	if err := s.answers(ctx); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return s, nil
}

// Start starts the server, which has ended, on the data that it left. It does not wait until it answers.
func (s *Server) Start() error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(s.words[0], s.words[1:]...)
	if s.argv0 != "" {
		cmd.Args[0] = s.argv0
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = filepath.Dir(s.log), log, log, attributes()
	begun, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // with the thread that started it a server may end: see attributes
		defer runtime.UnlockOSThread()
		defer log.Close()
		defer close(ended)
		err := cmd.Start()
		if begun <- err; err == nil {
			_ = cmd.Wait() // it was killed, or its log says why it has ended
		}
	}()
	if err := <-begun; err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.child, s.ended = cmd.Process, ended
	return nil
}

// answers waits until the server takes calls.
func (s *Server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := s.ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("start %s: it ended at once; the end of its log: %s", s.name, s.tail())
		case <-ctx.Done():
			return fmt.Errorf("start %s: %w: %w; the end of its log: %s", s.name, context.Cause(ctx), err, s.tail())
		case <-time.After(pause):
		}
	}
}

func (s *Server) ask(ctx context.Context) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	_ = c.Close()
	return s.prepare(ctx, s.addr)
}

// tail returns the end of the server's log.
func (s *Server) tail() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-1000):])
}

// Kill ends the server at once, without its doing anything more, and returns when it has ended.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.child.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", s.name, err)
	}
	<-s.ended
	return nil
}

// Pause lets the server stand still.
func (s *Server) Pause() error { return s.signal(suspend) }

// Resume lets it go on.
func (s *Server) Resume() error { return s.signal(proceed) }

func (s *Server) signal(sig os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.child.Signal(sig); err != nil {
		return fmt.Errorf("%v to %s: %w", sig, s.name, err)
	}
	return nil
}

// freeAddress returns a port of this machine that is free, and whose successor is, too, which Cassandra takes.
func freeAddress() (host, port string, err error) {
	const loopback = "127.0.0.1"
	for range 100 {
		l, err := net.Listen("tcp4", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return "", "", err
		}
		number := l.Addr().(*net.TCPAddr).Port
		next, err := net.Listen("tcp4", net.JoinHostPort(loopback, strconv.Itoa(number+1)))
		_ = l.Close()
		if err == nil {
			_ = next.Close()
			return loopback, strconv.Itoa(number), nil
		}
	}
	return "", "", errors.New("no two free ports lie together")
}
