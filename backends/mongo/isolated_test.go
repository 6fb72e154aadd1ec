package mongo_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

func openPlace(ctx context.Context, url string) (driver.Store, error) { return mongo.Open(ctx, url) }

func TestIsolated(t *testing.T) {
	backendtest.Isolated(t, testserver.Shared(t, testserver.Mongo).URL, openPlace)
}
