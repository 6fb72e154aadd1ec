package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
)

// A keeper is a hook that keeps the answers of pipelines that load a script, and holds
// scripts that are sent alone until their calls end, so that others share.
type keeper struct{ release chan struct{} }

func (*keeper) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (*keeper) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "evalsha" {
			<-ctx.Done()
		}
		return next(ctx, cmd)
	}
}

func (k *keeper) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		err := next(ctx, cmds)
		if slices.ContainsFunc(cmds, func(c goredis.Cmder) bool { return c.Name() == "script" }) {
			<-k.release
		}
		return err
	}
}

// A call that is cancelled while its command is in a shared pipeline does not look at
// the answer, which may be read at that moment: the race detector would say so.
func TestCancelledCallLeavesItsAnswer(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	k := &keeper{release: make(chan struct{})}
	s, err := redis.New(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	ts := backendtest.NewTables()
	if err := s.Define(t.Context(), ts.All()); err != nil {
		t.Fatal(err)
	}
	client.AddHook(k)
	do(t, raw(t, server.Addr), "CONFIG", "RESETSTAT") // Define loads a script, too
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// Until the script was loaded and the answer read: a channel would hide the race.
		for begun := time.Now(); loads(t, server.Addr) == 0 && time.Since(begun) < 5*time.Second; {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
		cancel()
	}()
	loading := 0
	for _, err := range together(64, func(i int) error { return insertOne(ctx, t, s, ts, fmt.Sprint(i)) }) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("insert: %v, want context.Canceled", err)
		}
		if strings.Contains(fmt.Sprint(err), "load a script") {
			loading++
		}
	}
	if loading == 0 {
		t.Error("no call was cancelled while it loaded a script, so the test shows nothing")
	}
	close(k.release)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// loads returns how many scripts a server was given.
func loads(t *testing.T, addr string) int {
	return strings.Count(do(t, raw(t, addr), "INFO", "commandstats").(string), "cmdstat_script|load")
}
