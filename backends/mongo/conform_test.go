package mongo_test

import (
	"context"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

func TestConformanceWithTables(t *testing.T)        { conform(t, "table") }
func TestConformanceWithNativeIndexes(t *testing.T) { conform(t, "native") }

func conform(t *testing.T, kind string) {
	t.Parallel()
	url := with(testserver.Shared(t, testserver.Mongo).URL, "database=conform"+patient)
	open := func(ctx context.Context) (driver.Store, error) { return mongo.Open(ctx, url) }
	conformance.Run(t, conformance.WithKind(open, kind))
}

// On a server that stands alone, which has no transactions, native indexes keep the contract.
func TestConformanceOfAServerThatStandsAlone(t *testing.T) {
	t.Parallel()
	url := with(testserver.StartStandalone(t).URL, "database=conform"+patient)
	open := func(ctx context.Context) (driver.Store, error) { return mongo.Open(ctx, url) }
	conformance.Run(t, conformance.WithKind(open, "native"))
}

// patient are options by which a busy machine is waited for.
const patient = "&serverSelectionTimeoutMS=60000&timeoutMS=60000"

// with adds an option to a URL.
func with(url, option string) string {
	if strings.Contains(url, "?") {
		return url + "&" + option
	}
	return url + "?" + option
}
