package store

import (
	"context"
	"errors"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A cost is what operations asked of a store: round trips one after the other,
// requests in them, rows that it returned, and processor time, that of this process
// and that of the server where it tells.
type cost struct {
	Trips, Requests, Rows int64
	Client, Server        time.Duration
	busy                  time.Duration // of all programs on this machine
}

// Others returns the processor time of other programs on this machine, as far as it is known.
func (c cost) Others() time.Duration { return max(c.busy-c.Client, 0) }

// Each returns the cost of one of n operations.
func (c cost) Each(n int) CostEach {
	f := float64(max(n, 1))
	return CostEach{Trips: float64(c.Trips) / f, Requests: float64(c.Requests) / f, Rows: float64(c.Rows) / f,
		client: c.Client / time.Duration(max(n, 1)), Server: c.Server / time.Duration(max(n, 1))}
}

// A CostEach is the cost of one operation on the average.
type CostEach struct {
	Trips, Requests, Rows float64
	client, Server        time.Duration
}

// CPU returns all processor time that is known.
func (c CostEach) CPU() time.Duration { return c.client + c.Server }

// tracer counts what operations cost, when they end.
func (s *Store) tracer() repo.Tracer {
	count := func(e repo.Event) {
		s.trips.Add(int64(e.Depth))
		s.requests.Add(int64(e.Requests))
		s.rows.Add(int64(e.Rows))
	}
	begin := func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) { return ctx, count }
	return repo.Tracer{Begin: begin}
}

// Begin returns what has been spent so far, for since.
func (s *Store) Begin(ctx context.Context) (cost, error) {
	server, err := s.serverTime(ctx) // first, so that asking is in neither time of this process
	return cost{s.trips.Load(), s.requests.Load(), s.rows.Load(), CPUTime(), server, busyTime()}, err
}

// Since returns what has been spent since begin.
func (s *Store) Since(ctx context.Context, before cost) (cost, error) {
	now := cost{s.trips.Load(), s.requests.Load(), s.rows.Load(), CPUTime(), 0, busyTime()}
	var err error
	now.Server, err = s.serverTime(ctx)
	return cost{now.Trips - before.Trips, now.Requests - before.Requests, now.Rows - before.Rows,
		now.Client - before.Client, max(now.Server-before.Server, 0), now.busy - before.busy}, err // a server that started anew counts from 0
}

// serverTime returns the processor time of the store's server, 0 where there is
// none or it does not tell.
func (s *Store) serverTime(ctx context.Context) (time.Duration, error) {
	if s.meter == nil {
		return 0, nil
	}
	return s.meter.CPU(ctx)
}

// learnMeter finds out whether the store's server tells its processor time.
func (s *Store) learnMeter(ctx context.Context) error {
	m, ok := s.driver.(driver.Meter)
	if !ok || s.InProcess() {
		return nil
	}
	s.meter = m
	_, err := s.serverTime(ctx)
	if errors.Is(err, driver.ErrUnsupported) {
		s.meter, err = nil, nil
	}
	return err
}

// CPUOf says whose processor time the store's is.
func (s *Store) CPUOf() string {
	switch {
	case s.InProcess():
		return "this process (store, callers and clock)"
	case s.meter != nil:
		return "this process and the server, whose other clients and upkeep are in it"
	}
	return "this process alone, as the server does not tell its own"
}
