package mongo_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo/driver"
)

func newSilent(t *testing.T) *backendtest.Silent {
	t.Helper()
	proxy := toxic.New(t, testserver.Shared(t, testserver.Mongo).Addr)
	url := "mongodb://" + proxy.Addr() + "/?directConnection=true&database=test" + driver.NewToken().String()
	store, ts := open(t, url)
	s := &backendtest.Silent{T: t, Proxy: proxy, Store: store, Tables: ts, Reopen: func(ctx context.Context) error {
		_, err := mongo.Open(ctx, url)
		return err
	}}
	s.Fill()
	return s
}

func silence() *backendtest.Silence {
	return &backendtest.Silence{New: newSilent, Verbs: slices.Concat(backendtest.Verbs(), storeVerbs()), Lasts: 300 * time.Millisecond,
		Slack: 8 * time.Second, Frame: "backends/mongo.(*"}
}

// storeVerbs are those of this store. A transaction of which no commit was sent has done
// nothing.
func storeVerbs() []backendtest.Verb {
	timeout := driver.ErrTimeout
	return []backendtest.Verb{
		{Name: "processor time", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			_, err := s.Store.(driver.Meter).CPU(ctx)
			return err
		}},
		{Name: "commit of a put", Kind: driver.ErrUnknownOutcome, Call: func(s *backendtest.Silent, ctx context.Context) error {
			return s.Commit(ctx, s.Tables.Insert(s.T, "ann", "2")[:1])
		}},
		{Name: "commit of several", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			return s.Commit(ctx, s.Tables.Insert(s.T, "ann", "2"))
		}},
		{Name: "commit of a check", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error { return s.Check(ctx) }},
		{Name: "repo insert", Kind: driver.ErrUnknownOutcome, Call: func(s *backendtest.Silent, ctx context.Context) error {
			return s.Notes.Insert(ctx, &backendtest.Note{ID: "d", Tag: "x"})
		}},
	}
}

// Every call ends at its deadline while the server is silent.
func TestDeadlinesInSilence(t *testing.T) { silence().Deadline(t) }

// Every call ends when it is cancelled while the server is silent.
func TestCancellationsInSilence(t *testing.T) { silence().Cancel(t) }

// A connection that breaks before a request has left, or was answered.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault toxic.Fault
		there bool // what was asked for was done
	}{
		{toxic.Fault{Kind: toxic.Drop, Way: toxic.Requests}, false},
		{toxic.Fault{Kind: toxic.Drop, Way: toxic.Answers}, true},
	} {
		s, ops, token := cutCommit(t, tt.fault, 100*time.Millisecond)
		if n := s.Tables.There(t, s.Store, s.Tables.Posts, ops[0].Row.Key); (n == 1) != tt.there {
			t.Errorf("%v: %d records are there, want one: %v", tt.fault, n, tt.there)
		}
		if refusal, err := s.Store.Commit(t.Context(), token, ops); refusal != nil || err != nil {
			t.Errorf("%v, sent again: %v, %v", tt.fault, refusal, err)
		}
		s.Proxy.Set(toxic.Fault{Kind: toxic.Reset})
		if err := s.Commit(t.Context(), s.Tables.Insert(t, "ann", "several")); !errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("a transaction without a network: %v, want ErrUnavailable", err)
		}
		s.Proxy.Heal()
	}
}

// cutCommit breaks the connection of a commit, which has so long to be sent while a fault lasts. One that came later, on
// a busy machine, is tried again with more time.
func cutCommit(t *testing.T, fault toxic.Fault, wait time.Duration) (*backendtest.Silent, []driver.Op, driver.Token) {
	t.Helper()
	s := newSilent(t)
	ops, token := s.Tables.Insert(t, "ann", "cut")[:1], driver.NewToken()
	s.Proxy.Set(fault)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Store.Commit(context.WithoutCancel(t.Context()), token, ops)
		ended <- err
	}()
	time.Sleep(wait)
	s.Proxy.Heal() // it breaks the connections
	err := <-ended
	if err == nil && wait < 10*time.Second {
		return cutCommit(t, fault, 4*wait)
	}
	if !errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("%v: %v, want ErrUnknownOutcome", fault, err)
	}
	return s, ops, token
}

// A read fails only by the break of its own connection, twice; never since others broke, for which the client gives up
// the connections that it has.
func TestBrokenConnectionsOfOthers(t *testing.T) {
	t.Parallel()
	s := newSilent(t)
	var wg sync.WaitGroup
	var reads, broken atomic.Int64
	until := time.Now().Add(2 * time.Second)
	for range 16 {
		wg.Go(func() {
			for time.Now().Before(until) {
				switch err := s.Get(t.Context(), 1); {
				case err == nil:
					reads.Add(1)
				case strings.Contains(err.Error(), "pool"):
					t.Error(err)
				default:
					broken.Add(1)
				}
			}
		})
	}
	for time.Now().Before(until) {
		s.Proxy.Set(toxic.Fault{Kind: toxic.Drop, Way: toxic.Answers})
		time.Sleep(10 * time.Millisecond)
		s.Proxy.Heal() // it breaks the connections
		time.Sleep(40 * time.Millisecond)
	}
	wg.Wait()
	if reads.Load() == 0 {
		t.Errorf("no read was answered, and %d broke", broken.Load())
	}
	t.Logf("%d reads were answered, %d broke", reads.Load(), broken.Load())
}
