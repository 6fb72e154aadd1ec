package cassandra

import (
	"context"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
)

// Tune is what Open makes of the configuration of a client.
var Tune = tune

// URLOptions are those of a URL.
var URLOptions = (&target{cluster: gocql.NewCluster()}).options()

// Failed is what a store that was opened says of an error of its client.
func Failed(ctx context.Context, err error) error {
	return (&conn{addr: "host"}).failed(ctx, "get", err)
}

// IsBroken reports whether a read that ended with an error is sent again.
var IsBroken = isBroken

// ReadPieces makes the pieces shorter in which a store reads what a server cannot read at once.
func ReadPieces(s *Store, rows int) { s.in.pieceRows = rows }

// SweepAtOnce has a store sweep what was written just now, too.
func SweepAtOnce(s *Store) { s.in.rested = 0 }

// SweepBy sets how many rows a page of a sweep has.
func SweepBy(s *Store, rows int) { s.in.sweepRows = rows }

// NoText stands for no value.
const NoText = noText

// GatherApart gathers a first page of some rows, and what is left by a range of each table, as where a server gave up.
func GatherApart(ctx context.Context, s *Store, tables []*driver.Table, partition string, first int, yield func(i int, row *driver.Row) bool) error {
	g, err := s.in.gathering(tables, partition)
	if err != nil {
		return err
	}
	g.size = first
	if _, err := g.page(ctx); err != nil {
		return err
	}
	for i := range g.rows {
		if !yield(g.rows[i].of, &g.rows[i].Row) {
			return nil
		}
	}
	return s.gatherApart(ctx, g, tables, yield)
}
