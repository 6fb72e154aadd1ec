package redis_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

func openPlace(ctx context.Context, url string) (driver.Store, error) { return redis.Open(ctx, url) }

func TestIsolated(t *testing.T) {
	backendtest.Isolated(t, testserver.Shared(t, testserver.Redis).URL, openPlace)
}

func TestIsolatedInACluster(t *testing.T) {
	backendtest.Isolated(t, testserver.SharedCluster(t).URL, openPlace)
}
