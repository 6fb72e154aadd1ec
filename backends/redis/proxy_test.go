package redis_test

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// A proxy stands between client and server, and can lose a request that has a word
// in it, or the answer to one.
type proxy struct {
	server string
	listen net.Listener
	seen   atomic.Int64 // requests with the word

	mu    sync.Mutex
	word  []byte
	fault fault
	left  int // how many more requests the fault is for
	conns []net.Conn
	held  chan struct{}
}

type fault uint8

const (
	loseRequest fault = iota // the connection breaks before the server has read
	loseAnswer               // the connection breaks when the server has answered
	holdAnswer               // the answer never comes
)

func newProxy(t testing.TB, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: server, listen: l, word: []byte("evalsha"), held: make(chan struct{})}
	go p.accept()
	t.Cleanup(p.stop)
	return p
}

func (p *proxy) addr() string { return p.listen.Addr().String() }

// arm makes the next n requests with the word meet a fault.
func (p *proxy) arm(word string, f fault, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.word, p.fault, p.left = []byte(word), f, n
	p.seen.Store(0)
}

func (p *proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp4", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		go p.serve(client, server)
	}
}

// serve passes on one request and its answer at a time.
func (p *proxy) serve(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		f, hit := p.hit(buf[:n])
		if hit && f == loseRequest {
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		if n, err = server.Read(buf); err != nil {
			return
		}
		if hit && f == holdAnswer {
			<-p.held
		}
		if hit {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) hit(request []byte) (fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !bytes.Contains(bytes.ToLower(request), p.word) {
		return 0, false
	}
	p.seen.Add(1)
	if p.left == 0 {
		return 0, false
	}
	p.left--
	return p.fault, true
}

// stop breaks all connections and takes no more.
func (p *proxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listen.Close()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
	select {
	case <-p.held:
	default:
		close(p.held)
	}
}
