// Package toxic puts a network that fails in ways one can choose between a client and
// a server, for tests and for the faults of a load test. It is a proxy of its own because those to be had as modules
// close a connection where they are to reset it, once it is under way, and would
// choose the versions of other modules for every program that imports this one.
package toxic

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Kind is a kind of trouble.
type Kind uint8

// The kinds of trouble. Where the network is to be silent, Drop loses what was sent
// and breaks the connection afterwards, and Hold hands it over afterwards, be its
// sender still there or not.
const (
	None  Kind = iota // all is passed on, at once
	Delay             // all is passed on, each piece after a time
	Hold              // nothing is passed on until the trouble is over
	Drop              // nothing is passed on, and what was sent meanwhile is lost
	Cut               // connections are ended, and new ones as soon as they are made
	Reset             // connections are reset, new ones at their first byte
)

// String returns the kind in lower case.
func (k Kind) String() string {
	return [...]string{"none", "delay", "hold", "drop", "cut", "reset"}[k]
}

// A Way is a direction of what is sent.
type Way uint8

// The ways. Cut and Reset concern both, whatever a Fault says.
const (
	Both     Way = iota
	Requests     // from the client to the server
	Answers      // from the server to the client
)

// String returns the way in lower case.
func (w Way) String() string { return [...]string{"both ways", "requests", "answers"}[w] }

// A Fault is trouble of one kind. Time is that of a Delay.
type Fault struct {
	Kind Kind
	Way  Way
	Time time.Duration
}

// String returns the fault as a log has it.
func (f Fault) String() string {
	switch f.Kind {
	case Delay:
		return fmt.Sprintf("delay %s by %s", f.Way, f.Time)
	case Hold, Drop:
		return fmt.Sprintf("%s %s", f.Kind, f.Way)
	}
	return f.Kind.String()
}

func (f Fault) concerns(w Way) bool { return f.Way == Both || f.Way == w }

// A Proxy passes on the connections to one server, as far as its Fault lets it.
type Proxy struct {
	server string
	listen net.Listener
	wait   sync.WaitGroup

	mu      sync.Mutex
	fault   Fault
	changed chan struct{} // closed when fault is replaced
	links   map[*link]bool
	closed  bool
}

// Listen starts a proxy on this machine for the TCP address of a server.
func Listen(server string) (*Proxy, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{server: server, listen: l, changed: make(chan struct{}), links: map[*link]bool{}}
	p.wait.Go(p.accept)
	return p, nil
}

// A test is what New asks of a testing.TB, which programs are not to be built with.
type test interface {
	Helper()
	Fatal(args ...any)
	Cleanup(f func())
}

// New starts a proxy for the TCP address of a server, for the time of a test.
func New(t test, server string) *Proxy {
	t.Helper()
	p, err := Listen(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Addr returns the address for clients.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// Set ends the trouble that there is and begins another.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	close(p.changed)
	p.changed = make(chan struct{})
	for l := range p.links {
		switch {
		case f.Kind == Reset:
			l.reset()
		case f.Kind == Cut || l.lost.Load() && f.Kind != Drop:
			l.close()
		}
	}
}

// Heal ends all trouble.
func (p *Proxy) Heal() { p.Set(Fault{}) }

// Links returns how many connections there are.
func (p *Proxy) Links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close ends all connections and takes no more. It returns when nothing of the proxy
// is left.
func (p *Proxy) Close() {
	p.listen.Close()
	p.mu.Lock()
	p.closed = true
	for l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.wait.Wait()
}

func (p *Proxy) now() (Fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault, p.changed
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // a client that has gone already
		}
		p.wait.Go(func() { p.join(client) })
	}
}

// join connects a client with the server.
func (p *Proxy) join(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		client.Close()
		return
	}
	l := &link{proxy: p, client: client.(*net.TCPConn), server: server.(*net.TCPConn), over: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.fault.Kind == Cut {
		l.close()
		return
	}
	p.links[l] = true
	p.wait.Go(func() { l.pump(Requests, l.client, l.server) })
	p.wait.Go(func() { l.pump(Answers, l.server, l.client) })
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// A link is a client's connection and the one to the server that belongs to it.
type link struct {
	proxy          *Proxy
	client, server *net.TCPConn
	lost           atomic.Bool // something was dropped
	once           sync.Once
	over           chan struct{} // closed with the connections
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.over)
		l.client.Close()
		l.server.Close()
	})
}

func (l *link) reset() {
	_ = l.client.SetLinger(0) // fails only if it is closed already
	_ = l.server.SetLinger(0)
	l.close()
}

// A piece is what was read at once.
type piece struct {
	bytes []byte
	read  time.Time
}

const ahead = 256 // pieces that are read and not passed on yet

// pump passes on what goes one way.
func (l *link) pump(way Way, from, to *net.TCPConn) {
	defer l.proxy.forget(l)
	defer l.close()
	pieces := make(chan piece, ahead)
	l.proxy.wait.Go(func() { l.read(from, pieces) })
	for x := range pieces {
		if !l.pass(way, to, x) {
			return
		}
	}
}

// read notes when each piece came, so that those that come while one is delayed are delayed no longer.
func (l *link) read(from *net.TCPConn, pieces chan<- piece) {
	defer close(pieces)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			select {
			case pieces <- piece{slices.Clone(buf[:n]), time.Now()}:
			case <-l.over:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass does with a piece what the fault of the moment says, and reports whether the
// link goes on.
func (l *link) pass(way Way, to *net.TCPConn, x piece) bool {
	for {
		f, changed := l.proxy.now()
		switch {
		case f.Kind == Cut:
			return false
		case f.Kind == Reset:
			l.reset()
			return false
		case f.Kind == Drop && f.concerns(way):
			l.lost.Store(true)
			return true
		case f.Kind == Hold && f.concerns(way):
			select {
			case <-changed:
				continue
			case <-l.over:
				return false
			}
		case f.Kind == Delay && f.concerns(way) && !l.sleep(time.Until(x.read.Add(f.Time))):
			return false
		}
		_, err := to.Write(x.bytes)
		return err == nil
	}
}

// sleep reports whether the link is still there after d.
func (l *link) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.over:
		return false
	}
}
