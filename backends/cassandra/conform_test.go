package cassandra_test

import (
	"context"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	url := at(testserver.Shared(t, testserver.Cassandra).URL, "conform")
	conformance.Run(t, func(ctx context.Context) (driver.Store, error) { return cassandra.Open(ctx, url) })
}

// at returns the URL of a keyspace, which is made if it is not there.
func at(url, keyspace string) string {
	return strings.TrimSuffix(url, "/") + "/" + keyspace + "?replication=1"
}
