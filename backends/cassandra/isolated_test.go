package cassandra_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

func openPlace(ctx context.Context, url string) (driver.Store, error) {
	return cassandra.Open(ctx, url)
}

func TestIsolated(t *testing.T) {
	backendtest.Isolated(t, at(testserver.Shared(t, testserver.Cassandra).URL, common), openPlace)
}
