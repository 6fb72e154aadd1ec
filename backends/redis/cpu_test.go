package redis_test

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

var _ driver.Meter = (*redis.Store)(nil)

// What the server works for anybody, and nothing that it does not, is in its
// processor time.
func TestCPU(t *testing.T) {
	server := testserver.Start(t, testserver.Redis)
	s, err := redis.Open(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cpu := func() time.Duration {
		used, err := s.CPU(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return used
	}
	opts, err := goredis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	other := goredis.NewClient(opts)
	defer other.Close()

	before := cpu()
	time.Sleep(300 * time.Millisecond)
	idle := cpu() - before
	before, began := cpu(), time.Now()
	if err := other.Eval(t.Context(), "local n = 0 for i = 1, 2e7 do n = n + i end return n", nil).Err(); err != nil {
		t.Fatal(err)
	}
	took, busy := time.Since(began), cpu()-before
	if before <= 0 || idle > 150*time.Millisecond || busy < 20*time.Millisecond || busy > 2*took {
		t.Errorf("%v before, %v while idle for 300 ms, %v for another client's script that took %v", before, idle, busy, took)
	}
}
