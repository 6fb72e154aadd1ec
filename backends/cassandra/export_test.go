package cassandra

import "context"

// Tune is what Open makes of the configuration of a client.
var Tune = tune

// Failed is what a store that was opened says of an error of its client.
func Failed(ctx context.Context, err error) error {
	return (&Store{addr: "host"}).failed(ctx, "get", err)
}

// IsBroken reports whether a read that ended with an error is sent again.
var IsBroken = isBroken

// ReadPieces makes the pieces shorter in which a store reads what a server cannot read at once.
func ReadPieces(s *Store, rows int) { s.pieceRows = rows }

// HoldSchema does what a Define of tables that are there does, until it is released.
func HoldSchema(s *Store) (release func()) {
	s.schema.RLock()
	return s.schema.RUnlock
}

// SweepAtOnce has a store sweep what was written just now, too.
func SweepAtOnce(s *Store) { s.rested = 0 }

// SweepBy sets how many rows a page of a sweep has.
func SweepBy(s *Store, rows int) { s.sweepRows = rows }

// NoText stands for no value.
const NoText = noText
