package redis_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo/driver"
)

// A batchCounter counts pipelines with several commits.
type batchCounter struct{ batches atomic.Int64 }

func (*batchCounter) DialHook(next goredis.DialHook) goredis.DialHook          { return next }
func (*batchCounter) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook { return next }

func (b *batchCounter) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		commits := 0
		for _, c := range cmds {
			if c.Name() == "evalsha" {
				commits++
			}
		}
		if commits > 1 {
			b.batches.Add(1)
		}
		return next(ctx, cmds)
	}
}

// A storm is histories on the shared server through a network in trouble.
type storm struct {
	rounds, clients int
	rages           atomic.Bool
	batches         batchCounter
	wrap            func(*storm, driver.Store) driver.Store // makes another store of the real one; nil leaves it
}

// run makes the histories, with a client that notices trouble soon.
func (s *storm) run(t *testing.T, seed uint64) (conformance.Tally, error) {
	t.Helper()
	p := toxic.New(t, testserver.Shared(t, testserver.Redis).Addr)
	client := goredis.NewClient(&goredis.Options{Addr: p.Addr(), Protocol: 2, ContextTimeoutEnabled: true, ReadTimeout: 120 * time.Millisecond,
		WriteTimeout: 120 * time.Millisecond, DialTimeout: 200 * time.Millisecond, PoolTimeout: 300 * time.Millisecond, PoolSize: 8})
	defer client.Close()
	client.AddHook(&s.batches)
	open := func(ctx context.Context) (driver.Store, error) {
		store, err := redis.New(ctx, client, &redis.Options{Prefix: driver.NewToken().String()})
		if err != nil || s.wrap == nil {
			return store, err
		}
		return s.wrap(s, store), nil
	}
	kinds := map[toxic.Kind]int{}
	tally, err := conformance.InTrouble(t.Context(), open, conformance.Trouble{Seed: seed, Rounds: s.rounds, Clients: s.clients, Make: func(ctx context.Context, seed uint64) {
		s.rages.Store(true)
		defer s.rages.Store(false)
		for _, f := range p.Storm(ctx, seed) {
			kinds[f.Kind]++
		}
	}})
	t.Logf("%d clients: %+v under %v; %d pipelines with several commits", s.clients, tally, kinds, s.batches.batches.Load())
	return tally, err
}

// What clients see through a network that delays, holds, drops, cuts and resets is
// explained by an order of their calls; every outcome can be resolved, and stays as
// it was resolved. Some storms have so many clients that their calls share pipelines.
func TestHistoriesInTrouble(t *testing.T) {
	t.Parallel()
	var batches atomic.Int64
	for n := 0; n < 3 && batches.Load() < 5 && !t.Failed(); n++ { // how many there are depends on the machine
		backendtest.Storms(t, 4, 5, func(t *testing.T, i int, seed uint64) (conformance.Tally, error) {
			s := &storm{rounds: 8, clients: []int{6, 16}[i%2]}
			defer func() { batches.Add(s.batches.batches.Load()) }()
			return s.run(t, seed)
		})
	}
	if n := batches.Load(); n < 5 {
		t.Errorf("%d pipelines with several commits: too few to tell", n)
	}
}
