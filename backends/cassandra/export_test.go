package cassandra

import (
	"context"

	"github.com/apache/cassandra-gocql-driver/v2"
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
