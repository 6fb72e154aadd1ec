package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// behind opens a store behind a proxy, with names of its own on the shared server.
func behind(t *testing.T) (*proxy, *redis.Store, *backendtest.Tables) {
	t.Helper()
	return behindFor(t, time.Second)
}

// behindFor is behind with a client that waits so long for an answer.
func behindFor(t *testing.T, wait time.Duration) (*proxy, *redis.Store, *backendtest.Tables) {
	t.Helper()
	p := newProxy(t, testserver.Shared(t, testserver.Redis).Addr)
	s, ts := open(t, "redis://"+p.addr()+"?read_timeout="+wait.String()+"&prefix="+driver.NewToken().String())
	t.Cleanup(func() {
		if err := s.Drop(context.WithoutCancel(t.Context()), ts.All()); err != nil && !errors.Is(err, driver.ErrUnavailable) {
			t.Error(err)
		}
	})
	return p, s, ts
}

// A commit is sent once, whatever becomes of the connection. The control is a
// client of go-redis with the same settings, which sends a script again.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	p, s, ts := behind(t)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	backendtest.MustCommit(t, s, ts.Add(t, "ann", "1")) // now the server has the script
	for _, tt := range []struct {
		name  string
		fault fault
		more  int64 // what the commit adds
	}{{"request lost", loseRequest, 0}, {"answer lost", loseAnswer, 1}} {
		before := ts.Views(t, s, "ann", "1")
		p.arm("evalsha", tt.fault, 1)
		refusal, err := s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "1"))
		if !errors.Is(err, driver.ErrUnknownOutcome) || refusal != nil {
			t.Errorf("%s: %v, want ErrUnknownOutcome", tt.name, err)
		}
		if n := p.seen.Load(); n != 1 {
			t.Errorf("%s: the script was sent %d times", tt.name, n)
		}
		if got := ts.Views(t, s, "ann", "1") - before; got != tt.more {
			t.Errorf("%s: %d was added, want %d", tt.name, got, tt.more)
		}
	}
	name := driver.NewToken().String()
	control := raw(t, p.addr())
	p.arm("eval", loseAnswer, 1)
	n, err := control.Eval(t.Context(), "return redis.call('INCR', KEYS[1])", []string{name}).Int()
	if err != nil || n != 2 {
		t.Errorf("go-redis by itself counts to %d, %v; want 2, or the test shows nothing", n, err)
	}
	do(t, control, "DEL", name)
}

type counted struct {
	ID      string       `repo:"id"`
	N       int64        `repo:"n"`
	Version repo.Version `repo:",version"`
}

// Package repo settles what is unknown, so that each addition counts exactly once.
func TestUnknownOutcomesAreSettled(t *testing.T) {
	t.Parallel()
	p, s, _ := behind(t)
	store := repo.NewStore(s, nil)
	counters, err := repo.Open[counted](t.Context(), store, repo.Schema{Collection: "counters", Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	c := counted{ID: "a"}
	if err := counters.Insert(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	const adds = 40
	for i := range adds {
		switch i % 4 {
		case 1:
			p.arm("evalsha", loseRequest, 1)
		case 3:
			p.arm("evalsha", loseAnswer, 1)
		}
		if i%8 < 4 {
			_, err = counters.Patch(t.Context(), repo.Key{"a"}, repo.Add("n", 1))
		} else {
			_, err = counters.Update(t.Context(), repo.Key{"a"}, func(c *counted) error { c.N++; return nil })
		}
		if errors.Is(err, repo.ErrUnknownOutcome) && i%8 == 1 {
			// A blind patch that was lost on its way is based on nothing that could be compared.
			_, err = counters.Patch(t.Context(), repo.Key{"a"}, repo.Add("n", 1))
		}
		if err != nil {
			t.Fatalf("addition %d: %v", i, err)
		}
	}
	got, err := counters.Get(t.Context(), repo.Key{"a"})
	if err != nil || got.N != adds {
		t.Errorf("%d additions count %d, %v", adds, got.N, err)
	}
	if err := repo.DropCollection(t.Context(), store, "counters"); err != nil {
		t.Error(err)
	}
}

// A deadline that passes while an answer is awaited leaves a commit unknown and a
// read undone, at once; one that has passed before sends nothing.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	p, s, ts := behindFor(t, 20*time.Second)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	p.arm("evalsha", holdAnswer, 1)
	within(t, "commit", 10*time.Second, func(ctx context.Context) error {
		_, err := s.Commit(ctx, driver.NewToken(), ts.Add(t, "ann", "1"))
		return err
	}, driver.ErrUnknownOutcome, context.DeadlineExceeded)
	p.arm("hmget", holdAnswer, 1)
	within(t, "get", 10*time.Second, func(ctx context.Context) error {
		return s.Get(ctx, ts.Posts, []driver.Key{backendtest.KeyOf(t, ts.Posts, "ann", "1")}, []int{backendtest.FieldViews}, make([]driver.Row, 1))
	}, driver.ErrTimeout, context.DeadlineExceeded)
	p.arm("evalsha", holdAnswer, 1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Commit(over, driver.NewToken(), ts.Add(t, "ann", "1"))
	if !errors.Is(err, driver.ErrTimeout) || !errors.Is(err, context.Canceled) || p.seen.Load() != 0 {
		t.Errorf("a commit after the end of its context: %v, and %d scripts were sent", err, p.seen.Load())
	}
}

// within calls fn with a deadline of a fifth of a second.
func within(t *testing.T, what string, most time.Duration, fn func(ctx context.Context) error, want ...error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	err := fn(ctx)
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Errorf("%s: %v, want %v", what, err, w)
		}
	}
	if took := time.Since(begun); took > most {
		t.Errorf("%s with a deadline of 200 ms took %s", what, took)
	}
}

// An answer that takes longer than the client waits leaves a commit unknown.
func TestAnswerThatIsLate(t *testing.T) {
	t.Parallel()
	p, s, ts := behind(t)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	p.arm("evalsha", holdAnswer, 1)
	_, err := s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "1"))
	if !errors.Is(err, driver.ErrUnknownOutcome) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("commit: %v, want ErrUnknownOutcome without the error of a context", err)
	}
}

// What never left is no unknown outcome: without a free connection, and without a
// server.
func TestWhatNeverLeft(t *testing.T) {
	t.Parallel()
	p := newProxy(t, testserver.Shared(t, testserver.Redis).Addr)
	client := goredis.NewClient(&goredis.Options{Addr: p.addr(), ContextTimeoutEnabled: true, PoolSize: 1,
		PoolTimeout: 2 * time.Second, DialerRetries: 1, DialTimeout: time.Second})
	defer client.Close()
	prefix := driver.NewToken().String()
	s, err := redis.New(t.Context(), client, &redis.Options{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	ts := backendtest.NewTables()
	if err := s.Define(t.Context(), ts.All()); err != nil {
		t.Fatal(err)
	}
	one := client.Conn() // it keeps the only connection
	if err := one.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	_, err = s.Commit(t.Context(), driver.NewToken(), ts.Insert(t, "ann", "1"))
	if !errors.Is(err, driver.ErrThrottled) || errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("without a free connection: %v, want ErrThrottled", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = s.Commit(ctx, driver.NewToken(), ts.Insert(t, "ann", "1"))
	if !errors.Is(err, driver.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("a deadline while waiting for a connection: %v, want ErrTimeout", err)
	}
	one.Close()
	p.stop()
	time.Sleep(50 * time.Millisecond) // until the client can see that its connection is gone
	_, err = s.Commit(t.Context(), driver.NewToken(), ts.Insert(t, "ann", "1"))
	if !errors.Is(err, driver.ErrUnavailable) || errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("commit without a server: %v, want ErrUnavailable", err)
	}
	if err := s.Define(t.Context(), ts.All()); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("define without a server: %v, want ErrUnavailable", err)
	}
	direct, _ := open(t, testserver.Shared(t, testserver.Redis).URL+"?prefix="+prefix)
	if err := direct.Drop(t.Context(), ts.All()); err != nil {
		t.Error(err)
	}
}
