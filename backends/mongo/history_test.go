package mongo_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo/driver"
)

// squallsOf returns what has a client that looks for its server soon again when it was
// gone, and indexes of a kind.
func squallsOf(kind string) func(t *testing.T) *backendtest.Squalls {
	return func(t *testing.T) *backendtest.Squalls { return newSqualls(t, kind) }
}

func newSqualls(t *testing.T, kind string) *backendtest.Squalls {
	t.Helper()
	server := testserver.Shared(t, testserver.Mongo)
	if kind == "table" {
		// What the network delivers late can begin a transaction anew of which nobody knows. The
		// server keeps it, and what it has locked, for as long as this says: by default a minute.
		server = testserver.Start(t, testserver.Mongo, "--setParameter", "transactionLifetimeLimitSeconds=3")
	}
	p := toxic.New(t, server.Addr)
	url := "mongodb://" + p.Addr() + "/?directConnection=true&heartbeatFrequencyMS=500&connectTimeoutMS=300&serverSelectionTimeoutMS=1000&database=test" + driver.NewToken().String()
	open := func(ctx context.Context) (driver.Store, error) { return mongo.Open(ctx, url) }
	return &backendtest.Squalls{Proxy: p, Open: conformance.WithKind(open, kind)}
}

// What clients see through a network that delays, holds, drops, cuts and resets is
// explained by an order of their calls.
func TestHistoriesInTrouble(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"native", "table"} {
		t.Run(kind, func(t *testing.T) { backendtest.Histories(t, 2, squallsOf(kind)) })
	}
}

func TestHistoriesFindACarelessStore(t *testing.T) {
	t.Parallel()
	backendtest.Careless(t, newSqualls(t, "native"))
}
