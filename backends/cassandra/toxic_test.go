package cassandra_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo/driver"
)

// newSilence returns the address of a server that takes connections and says nothing.
func newSilence(t *testing.T) string {
	t.Helper()
	proxy := toxic.New(t, testserver.Shared(t, testserver.Cassandra).Addr)
	proxy.Set(toxic.Fault{Kind: toxic.Hold})
	return proxy.Addr()
}

// A detour is the dialer of a client whose connections all go through a proxy, whatever
// address the server gives for itself.
type detour struct {
	addr  string
	dials *atomic.Int64 // or nil
}

func (d detour) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	if d.dials != nil {
		d.dials.Add(1)
	}
	return (&net.Dialer{}).DialContext(ctx, network, d.addr)
}

// A silent has a store, with a record, behind a network that will be silent.
type silent struct {
	t      *testing.T
	proxy  *toxic.Proxy
	store  *cassandra.Store
	ts     *tables
	author string
	close  func()
}

func newSilent(t *testing.T, timeout time.Duration) *silent {
	t.Helper()
	server := testserver.Shared(t, testserver.Cassandra)
	shared(t)
	s := &silent{t: t, proxy: toxic.New(t, server.Addr), author: unique()}
	c := clusterOf(t, server.URL, "")
	c.Dialer, c.Timeout = detour{addr: s.proxy.Addr()}, timeout
	session, err := c.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	if s.store, err = cassandra.New(t.Context(), session, &cassandra.Options{Keyspace: common}); err != nil {
		t.Fatal(err)
	}
	s.close = func() {
		s.store.Close()
		go session.Close() // where the network was cut it can wait for ever
	}
	t.Cleanup(s.close)
	s.ts = define(t, s.store)
	backendtest.MustCommit(t, s.store, s.ts.insert(t, s.author, "1"))
	backendtest.MustCommit(t, s.store, s.ts.add(t, s.author, "1"))
	return s
}

func (s *silent) commit(ctx context.Context, ops []driver.Op) error {
	_, err := s.store.Commit(ctx, driver.NewToken(), ops)
	return err
}

func (s *silent) span() driver.Span {
	return driver.Span{Table: s.ts.posts, Key: driver.Key{Partition: s.author + "#"}}
}

// A verb is a call, and what it returns when its context ends in silence.
type verb struct {
	name string
	kind error
	call func(s *silent, ctx context.Context) error
}

func verbs() []verb {
	unknown, timeout := driver.ErrUnknownOutcome, driver.ErrTimeout
	return []verb{
		{"get", timeout, func(s *silent, ctx context.Context) error {
			return s.store.Get(ctx, s.ts.posts, []driver.Key{s.ts.key(s.t, s.author, "1")}, nil, make([]driver.Row, 1))
		}},
		{"get of several", timeout, func(s *silent, ctx context.Context) error {
			keys := []driver.Key{s.ts.key(s.t, s.author, "1"), s.ts.key(s.t, s.author, "2"), s.ts.key(s.t, "x", "1")}
			return s.store.Get(ctx, s.ts.posts, keys, nil, make([]driver.Row, 3))
		}},
		{"range", timeout, func(s *silent, ctx context.Context) error { return backendtest.Drain(s.store.Range(ctx, s.span())) }},
		{"count", timeout, func(s *silent, ctx context.Context) error {
			_, err := s.store.Count(ctx, s.span())
			return err
		}},
		{"walk", timeout, func(s *silent, ctx context.Context) error {
			return backendtest.Drain(s.store.Walk(ctx, s.ts.posts, ""))
		}},
		{"define", timeout, func(s *silent, ctx context.Context) error { return s.store.Define(ctx, s.ts.all()) }},
		{"attach", timeout, func(s *silent, ctx context.Context) error { return s.store.Attach(ctx, s.ts.all()) }},
		{"drop", timeout, func(s *silent, ctx context.Context) error {
			return s.store.Drop(ctx, []*driver.Table{{Name: "nosuch"}})
		}},
		{"commit of a put", unknown, func(s *silent, ctx context.Context) error {
			return s.commit(ctx, s.ts.insert(s.t, s.author, "2")[:1])
		}},
		{"commit of several", unknown, func(s *silent, ctx context.Context) error {
			return s.commit(ctx, s.ts.insert(s.t, s.author, "2"))
		}},
		{"commit that reads", timeout, func(s *silent, ctx context.Context) error { return s.commit(ctx, s.ts.add(s.t, s.author, "1")) }},
		{"commit of a check", timeout, func(s *silent, ctx context.Context) error {
			return s.commit(ctx, []driver.Op{{Do: driver.Check, Table: s.ts.posts, If: driver.Present, Row: driver.Row{Key: s.ts.key(s.t, s.author, "1")}}})
		}},
	}
}

const (
	silence = 300 * time.Millisecond // until the context ends
	slack   = 10 * time.Second       // the client waits for 20
)

// Every call ends with its context while the server is silent, and says what it knows.
func TestContextsInSilence(t *testing.T) {
	t.Parallel()
	ends := map[error]func(context.Context) (context.Context, context.CancelFunc){
		context.DeadlineExceeded: func(parent context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(parent, silence)
		},
		context.Canceled: func(parent context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(parent)
			timer := time.AfterFunc(silence, cancel)
			return ctx, func() { timer.Stop(); cancel() }
		},
	}
	for cause, end := range ends {
		s := newSilent(t, 20*time.Second)
		for _, v := range verbs() {
			s.proxy.Set(toxic.Fault{Kind: toxic.Hold, Way: toxic.Answers})
			ctx, cancel := end(t.Context())
			begun := time.Now()
			err := v.call(s, ctx)
			took := time.Since(begun)
			cancel()
			if !errors.Is(err, v.kind) || !errors.Is(err, cause) {
				t.Errorf("%s: %v, want %v and %v", v.name, err, v.kind, cause)
			}
			if v.kind != driver.ErrUnknownOutcome && errors.Is(err, driver.ErrUnknownOutcome) {
				t.Errorf("%s: the outcome is unknown: %v", v.name, err)
			}
			if took < silence-20*time.Millisecond || took > silence+slack {
				t.Errorf("%s took %s, want %s", v.name, took.Round(time.Millisecond), silence)
			}
			s.proxy.Heal()
			if !s.ts.there(t, s.store, s.ts.posts, s.ts.key(t, s.author, "1")) {
				t.Errorf("%s: when it was over, the record is not there", v.name)
			}
		}
		s.close()
		if n := backendtest.Await(s.proxy.Links); n > 0 {
			t.Errorf("%d connections after Close", n)
		}
	}
}

// A client that waits no longer than it was told knows of a commit as little as one
// whose context ended.
func TestClientTimeout(t *testing.T) {
	t.Parallel()
	s := newSilent(t, 3*time.Second)
	s.proxy.Set(toxic.Fault{Kind: toxic.Hold, Way: toxic.Answers})
	if err := s.commit(t.Context(), s.ts.insert(t, s.author, "2")); !errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("commit: %v, want ErrUnknownOutcome", err)
	}
	if err := s.store.Get(t.Context(), s.ts.posts, []driver.Key{s.ts.key(t, s.author, "1")}, nil, make([]driver.Row, 1)); !errors.Is(err, driver.ErrTimeout) {
		t.Errorf("get: %v, want ErrTimeout", err)
	}
}

// A connection that breaks before a request has left, or was answered. What was not
// answered is settled by sending it again.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault toxic.Fault
		there bool // what was asked for was done
	}{
		{toxic.Fault{Kind: toxic.Drop, Way: toxic.Requests}, false},
		{toxic.Fault{Kind: toxic.Drop, Way: toxic.Answers}, true},
	} {
		s := newSilent(t, 20*time.Second)
		backendtest.MustCommit(t, s.store, s.ts.insert(t, s.author, "warm")) // statements are prepared
		ops, token := s.ts.insert(t, s.author, "cut"), driver.NewToken()
		s.proxy.Set(tt.fault)
		ended := make(chan error, 1)
		go func() {
			_, err := s.store.Commit(context.WithoutCancel(t.Context()), token, ops)
			ended <- err
		}()
		time.Sleep(300 * time.Millisecond)
		s.proxy.Heal() // it breaks the connections
		if err := <-ended; !errors.Is(err, driver.ErrUnknownOutcome) {
			t.Errorf("%v: %v, want ErrUnknownOutcome", tt.fault, err)
		}
		if there := s.ts.there(t, s.store, s.ts.posts, ops[0].Row.Key); there != tt.there {
			t.Errorf("%v: the record is there: %v, want %v", tt.fault, there, tt.there)
		}
		if refusal, err := s.store.Commit(t.Context(), token, ops); refusal != nil || err != nil {
			t.Errorf("%v, sent again: %v, %v", tt.fault, refusal, err)
		}
		s.proxy.Set(toxic.Fault{Kind: toxic.Reset})
		err := s.commit(t.Context(), s.ts.insert(t, s.author, "none"))
		if !errors.Is(err, driver.ErrUnknownOutcome) && !errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("a commit without a network: %v", err)
		}
		s.proxy.Heal()
		if err := s.store.Get(t.Context(), s.ts.posts, []driver.Key{ops[0].Row.Key}, nil, make([]driver.Row, 1)); err != nil {
			t.Errorf("get when it was over: %v", err)
		}
	}
}

// The client prepares a statement with a context of the connection's own. That of a connection which
// closed is cancelled: no timeout, but a connection that broke.
func TestCutWhilePrepared(t *testing.T) {
	t.Parallel()
	if err := cassandra.Failed(t.Context(), context.Canceled); !errors.Is(err, driver.ErrUnavailable) || errors.Is(err, driver.ErrTimeout) || !errors.Is(err, gocql.ErrConnectionClosed) {
		t.Errorf("the connection's context: %v, want ErrUnavailable", err)
	}
	if !cassandra.IsBroken(context.Canceled) {
		t.Error("a read whose connection closed is not sent again")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{cassandra.Failed(over, context.Canceled), cassandra.Failed(t.Context(), gocql.ErrTimeoutNoResponse)} {
		if !errors.Is(err, driver.ErrTimeout) {
			t.Errorf("%v, want ErrTimeout", err)
		}
	}
}

// A client without a network tries again at each call, so that the first one after it is back finds a
// connection soon. With the client's own policies it tries once a second: they are the control.
func TestNetworkThatComesBack(t *testing.T) {
	t.Parallel()
	back := func(tuned bool) (dials int64) {
		server := testserver.Shared(t, testserver.Cassandra)
		_, ts := shared(t)
		p := toxic.New(t, server.Addr)
		c := clusterOf(t, server.URL, "")
		if tuned {
			cassandra.Tune(c)
		}
		c.Dialer = detour{p.Addr(), new(atomic.Int64)}
		session, err := c.CreateSession()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { go session.Close() })
		s, err := cassandra.New(t.Context(), session, &cassandra.Options{Keyspace: common})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Attach(t.Context(), ts.all()); err != nil {
			t.Fatal(err)
		}
		read := func() error {
			return s.Get(t.Context(), ts.posts, []driver.Key{ts.key(t, "nobody", "1")}, nil, make([]driver.Row, 1))
		}
		count := c.Dialer.(detour).dials
		before := count.Load()
		p.Set(toxic.Fault{Kind: toxic.Reset})
		if err := read(); !errors.Is(err, driver.ErrUnavailable) { // after it has waited for a connection
			t.Errorf("get without a network: %v, want ErrUnavailable", err)
		}
		dials = count.Load() - before
		healed := time.Now()
		p.Heal()
		for read() != nil {
			if time.Since(healed) > time.Minute {
				t.Fatal("no call is answered a minute after the network is back")
			}
		}
		t.Logf("tuned %v: %d dials, back after %s", tuned, dials, time.Since(healed))
		return dials
	}
	tuned, untuned := back(true), back(false)
	for n := 0; n < 4 && tuned < 2*untuned; n++ { // the machine may be busy
		tuned = back(true)
	}
	if tuned < 2*untuned {
		t.Errorf("%d dials while a call waited, %d with the client's own policies", tuned, untuned)
	}
}
