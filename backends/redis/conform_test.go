package redis_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

func TestConformanceOfOneServer(t *testing.T) {
	t.Parallel()
	url := testserver.Shared(t, testserver.Redis).URL
	conformance.Run(t, func(ctx context.Context) (driver.Store, error) { return redis.Open(ctx, url+"?prefix=conform") })
}

// On a cluster a commit changes one partition, so that tables elsewhere are refused:
// rules for them see that, and each that is left out says why.
func TestClusterConformance(t *testing.T) {
	t.Parallel()
	url := testserver.SharedCluster(t).URL
	conformance.Run(t, func(ctx context.Context) (driver.Store, error) { return redis.Open(ctx, url+"&prefix=conform") })
}

func TestConcurrentRules(t *testing.T) {
	t.Parallel()
	url := testserver.Shared(t, testserver.Redis).URL
	backendtest.Concurrent(t, func(ctx context.Context) (driver.Store, error) { return redis.Open(ctx, url+"?prefix=concurrent") })
}
