package cassandra_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo/driver"
)

// A dry has another store, on a network without trouble and with more patience, for what
// changes the schema: that takes a second.
type dry struct {
	driver.Store
	calm driver.Store
}

func (d dry) Define(ctx context.Context, tables []*driver.Table) error {
	return errors.Join(d.calm.Define(ctx, tables), d.Store.Define(ctx, tables))
}

func (d dry) Drop(ctx context.Context, tables []*driver.Table) error {
	return errors.Join(d.calm.Drop(ctx, tables), d.Store.Drop(ctx, nil))
}

// newSqualls has a client that notices trouble soon.
func newSqualls(t *testing.T) *backendtest.Squalls { return squallsOn(t, "table") }

func squallsOn(t *testing.T, kind string) *backendtest.Squalls {
	t.Helper()
	server := testserver.Shared(t, testserver.Cassandra)
	calm, _ := shared(t)
	p := toxic.New(t, server.Addr)
	c := clusterOf(t, server.URL, "")
	cassandra.Tune(c)
	c.Dialer, c.Timeout, c.ConnectTimeout, c.NumConns = detour{addr: p.Addr()}, 300*time.Millisecond, 200*time.Millisecond, 4
	session, err := c.CreateSession()
	for n := 0; err != nil && n < 50; n++ { // a busy machine may be as slow as the trouble
		session, err = c.CreateSession()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { go session.Close() }) // where the network was cut it can wait for ever
	open := conformance.WithKind(func(ctx context.Context) (driver.Store, error) {
		return cassandra.New(ctx, session, &cassandra.Options{Keyspace: common})
	}, kind)
	return &backendtest.Squalls{Proxy: p, Open: func(ctx context.Context) (driver.Store, error) {
		store, err := open(ctx)
		return dry{store, calm}, err
	}}
}

// What clients see through a network that delays, holds, drops, cuts and resets is
// explained by an order of their calls: in one storm with tables for all indexes, in the other
// one with a native index, too.
func TestHistoriesInTrouble(t *testing.T) {
	t.Parallel()
	var storms atomic.Int64
	backendtest.Histories(t, 2, func(t *testing.T) *backendtest.Squalls {
		return squallsOn(t, []string{"table", "native"}[storms.Add(1)%2])
	})
}

func TestHistoriesFindACarelessStore(t *testing.T) {
	t.Parallel()
	backendtest.Careless(t, newSqualls(t))
}
