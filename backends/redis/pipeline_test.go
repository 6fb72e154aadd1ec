package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo/driver"
)

// A traffic is a hook that counts what goes to the server, and can panic.
type traffic struct {
	single, pipes, inPipes atomic.Int64
	panics                 atomic.Bool
}

func (*traffic) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (l *traffic) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if isCall(cmd) {
			l.single.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (l *traffic) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		if !isCall(cmds[0]) {
			return next(ctx, cmds)
		}
		l.pipes.Add(1)
		l.inPipes.Add(int64(len(cmds)))
		if l.panics.Load() {
			panic("the hook is broken")
		}
		return next(ctx, cmds)
	}
}

// isCall leaves out what go-redis sends on a new connection.
func isCall(cmd goredis.Cmder) bool { return cmd.Name() == "evalsha" || cmd.Name() == "hgetall" }

func (l *traffic) reset() {
	l.single.Store(0)
	l.pipes.Store(0)
	l.inPipes.Store(0)
}

// overheard returns a store and what it sends.
func overheard(t *testing.T, addr string, timeout time.Duration) (*redis.Store, *backendtest.Tables, *traffic) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true, ReadTimeout: timeout, WriteTimeout: timeout, PoolSize: 100})
	l := &traffic{}
	client.AddHook(l)
	s, err := redis.New(t.Context(), client, &redis.Options{Prefix: driver.NewToken().String()})
	if err != nil {
		t.Fatal(err)
	}
	ts := backendtest.NewTables()
	if err := s.Define(t.Context(), ts.All()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		client.Close()
	})
	return s, ts, l
}

// together runs n calls at once, and returns their errors.
func together(n int, call func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = call(i) })
	}
	wg.Wait()
	return errs
}

// Many calls at once share pipelines, each has its own answer, and a lone call has
// none to share.
func TestSharedPipelines(t *testing.T) {
	t.Parallel()
	s, ts, l := overheard(t, testserver.Shared(t, testserver.Redis).Addr, 3*time.Second)
	get := func(id string) (string, error) {
		rows := make([]driver.Row, 1)
		err := s.Get(t.Context(), ts.Posts, []driver.Key{backendtest.KeyOf(t, ts.Posts, "ann", id)}, nil, rows)
		if err == nil && rows[0].Rev.IsZero() {
			return "", errors.New("no row")
		}
		return rows[0].Key.Sort, err
	}
	l.reset()
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "lone"))
	if _, err := get("lone"); err != nil {
		t.Error(err)
	}
	if l.pipes.Load() != 0 {
		t.Errorf("a lone call went by %d pipelines, want by none", l.pipes.Load())
	}
	l.reset()
	const callers, calls = 64, 20
	for _, err := range together(callers, func(i int) error {
		for k := range calls {
			id := fmt.Sprintf("%d-%d", i, k)
			if refusal, err := s.Commit(t.Context(), driver.NewToken(), ts.Insert(t, "ann", id)); refusal != nil || err != nil {
				return fmt.Errorf("insert %s: %v, %w", id, refusal, err)
			}
			if got, err := get(id); err != nil || got != id+"#" {
				return fmt.Errorf("get %s: %q, %w", id, got, err)
			}
		}
		return nil
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	if got := l.single.Load() + l.inPipes.Load(); got != 2*callers*calls {
		t.Errorf("%d commands were sent for %d calls", got, 2*callers*calls)
	}
	if each := l.inPipes.Load() / max(l.pipes.Load(), 1); each < 4 || l.inPipes.Load() < l.single.Load() {
		t.Errorf("%d commands by themselves, %d in %d pipelines: want most in pipelines of several", l.single.Load(), l.inPipes.Load(), l.pipes.Load())
	}
}

// Changes have connections of their own while inserts share pipelines already; with many callers
// they share them too.
func TestChangesShareLater(t *testing.T) {
	t.Parallel()
	p := toxic.New(t, testserver.Shared(t, testserver.Redis).Addr)
	s, ts, l := overheard(t, p.Addr(), time.Minute)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	add := func(int) error {
		_, err := s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "1"))
		return err
	}
	insert := func(i int) error { return insertOne(t.Context(), t, s, ts, fmt.Sprint(driver.NewToken(), i)) }
	if err := add(0); err != nil { // the server knows the script
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name             string
		callers          int
		call             func(int) error
		alone, pipelines int64
	}{
		{"inserts", 24, insert, 7, 1},
		{"changes", 24, add, 24, 0},
		{"changes", 64, add, 31, 1},
	} {
		l.reset()
		p.Set(toxic.Fault{Kind: toxic.Hold, Way: toxic.Answers})
		ended := make(chan []error, 1)
		go func() { ended <- together(tt.callers, tt.call) }()
		left := backendtest.Await(func() int {
			return int(max(tt.alone-l.single.Load(), 0) + max(tt.pipelines-l.pipes.Load(), 0))
		})
		p.Heal()
		for _, err := range <-ended {
			if err != nil {
				t.Errorf("%d %s: %v", tt.callers, tt.name, err)
			}
		}
		if left > 0 || l.single.Load() != tt.alone || l.pipes.Load() < tt.pipelines || tt.pipelines == 0 && l.pipes.Load() > 0 {
			t.Errorf("%d %s: %d by themselves, %d pipelines, want %d and %d", tt.callers, tt.name, l.single.Load(), l.pipes.Load(), tt.alone, tt.pipelines)
		}
	}
}

// A call that is cancelled does not wait for the pipeline that it shares. What was
// not sent is not done; of what was, the outcome is unknown.
func TestSharedPipelineThatHangs(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis)
	p := toxic.New(t, server.Addr)
	const callers = 1600 // more than four pipelines hold
	s, ts, _ := overheard(t, p.Addr(), 5*time.Second)
	for _, err := range together(callers, func(i int) error { return insertOne(t.Context(), t, s, ts, fmt.Sprint("warm", i)) }) {
		if err != nil {
			t.Fatal(err)
		}
	}
	p.Set(toxic.Fault{Kind: toxic.Hold})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	began := time.Now()
	known := map[string]bool{}
	for i, err := range together(callers, func(i int) error { return insertOne(ctx, t, s, ts, fmt.Sprint("late", i)) }) {
		switch {
		case errors.Is(err, driver.ErrUnknownOutcome):
		case errors.Is(err, driver.ErrTimeout):
			known[fmt.Sprint("late", i)] = true
		default:
			t.Errorf("late%d: %v, want ErrUnknownOutcome or ErrTimeout", i, err)
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the calls took %v; their context ended after 300ms, and those by themselves wait five seconds", took)
	}
	if len(known) == 0 {
		t.Error("all commits are said to have been sent, though four pipelines and a few calls by themselves hung")
	}
	p.Heal()
	client := raw(t, server.Addr)
	backendtest.Await(func() int { // until the pipelines have ended
		if err := insertOne(t.Context(), t, s, ts, driver.NewToken().String()); err != nil {
			return 1
		}
		return 0
	})
	for id := range known {
		if keys := do(t, client, "KEYS", "*{ann#}"+id+"#").([]any); len(keys) > 0 {
			t.Errorf("%s was said not to be done, and is there: %v", id, keys)
		}
	}
}

func insertOne(ctx context.Context, t *testing.T, s *redis.Store, ts *backendtest.Tables, id string) error {
	_, err := s.Commit(ctx, driver.NewToken(), ts.Insert(t, "ann", id))
	return err
}

// Reads whose pipeline breaks are sent again; commits are not, and each counts once
// or is unknown.
func TestSharedPipelineThatBreaks(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis)
	p := toxic.New(t, server.Addr)
	s, ts, l := overheard(t, p.Addr(), 5*time.Second)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	l.reset()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var cuts sync.WaitGroup
	var times atomic.Int64 // that it was cut
	var unknown, done atomic.Int64
	cuts.Go(func() {
		for n := 0; n < 10 || n < 200 && unknown.Load() == 0; n++ { // on a busy machine a cut may find nothing under way
			time.Sleep(50 * time.Millisecond)
			times.Add(1)
			p.Set(toxic.Fault{Kind: toxic.Cut})
			p.Heal()
		}
		stop()
	})
	for _, err := range together(64, func(int) error {
		rows := make([]driver.Row, 1)
		for ctx.Err() == nil {
			before := times.Load()
			err := s.Get(t.Context(), ts.Posts, []driver.Key{backendtest.KeyOf(t, ts.Posts, "ann", "1")}, nil, rows)
			if err != nil && times.Load() <= before+1 { // what is cut off again and again may fail
				return fmt.Errorf("get: %w", err)
			}
			_, err = s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "1"))
			switch {
			case err == nil:
				done.Add(1)
			case errors.Is(err, driver.ErrUnknownOutcome):
				unknown.Add(1)
			case !errors.Is(err, driver.ErrUnavailable):
				return err
			}
		}
		return nil
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	cuts.Wait()
	if unknown.Load() == 0 || l.inPipes.Load() < l.single.Load() {
		t.Errorf("%d commits of unknown outcome, %d commands in pipelines, %d not: nothing broke", unknown.Load(), l.inPipes.Load(), l.single.Load())
	}
	if n := ts.Views(t, s, "ann", "1") - 1; n < done.Load() || n > done.Load()+unknown.Load() {
		t.Errorf("%d were added, %d acknowledged and %d unknown", n, done.Load(), unknown.Load())
	}
}

// A hook that panics breaks the calls of its pipeline, not the program.
func TestSharedPipelineHookPanics(t *testing.T) {
	t.Parallel()
	s, ts, l := overheard(t, testserver.Shared(t, testserver.Redis).Addr, 3*time.Second)
	l.panics.Store(true)
	failed := 0
	for _, err := range together(64, func(i int) error {
		for k := range 200 {
			if err := insertOne(t.Context(), t, s, ts, fmt.Sprint(i, "-", k)); err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil && !strings.Contains(err.Error(), "a hook of the client panicked") {
			t.Errorf("insert: %v, want the panic of the hook", err)
		}
		if err != nil { // the last ones have nobody to share with
			failed++
		}
	}
	if failed == 0 {
		t.Error("no insert failed: none shared a pipeline")
	}
	l.panics.Store(false)
	for _, err := range together(64, func(i int) error { return insertOne(t.Context(), t, s, ts, fmt.Sprint("again", i)) }) {
		if err != nil {
			t.Error(err)
		}
	}
}
