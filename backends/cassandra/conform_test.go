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

func TestConformanceWithTables(t *testing.T) {
	t.Parallel()
	url := at(testserver.Shared(t, testserver.Cassandra).URL, "conform")
	conformance.Run(t, func(ctx context.Context) (driver.Store, error) { return cassandra.Open(ctx, url) })
}

// With native indexes where there can be some, the rest being tables: what is not about
// indexes was seen above.
func TestConformanceWithNativeIndexes(t *testing.T) {
	t.Parallel()
	url := at(testserver.Shared(t, testserver.Cassandra).URL, "native")
	open := conformance.WithKind(func(ctx context.Context) (driver.Store, error) { return cassandra.Open(ctx, url) }, "native")
	for _, only := range []string{"catalog and schema/local native", "random operations", "concurrent histories"} {
		report, err := conformance.Check(t.Context(), open, conformance.Options{Only: only, Ops: 640, Histories: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range report.Groups {
			for _, f := range g.Failed {
				t.Errorf("%s\n%s\nwant %s\ngot %s", f.Rule, f.Sentence, f.Want, f.Got)
			}
		}
		t.Log(report.Summary())
	}
}

// at returns the URL of a keyspace, which is made if it is not there, for a client that waits
// for a busy machine.
func at(url, keyspace string) string {
	return strings.TrimSuffix(url, "/") + "/" + keyspace + "?replication=1&timeout=60s&connect_timeout=60s"
}
