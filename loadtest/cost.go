package loadtest

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
	trips, requests, rows int64
	client, server        time.Duration
}

// each returns the cost of one of n operations.
func (c cost) each(n int) costEach {
	f := float64(max(n, 1))
	return costEach{trips: float64(c.trips) / f, requests: float64(c.requests) / f, rows: float64(c.rows) / f,
		client: c.client / time.Duration(max(n, 1)), server: c.server / time.Duration(max(n, 1))}
}

// A costEach is the cost of one operation on the average.
type costEach struct {
	trips, requests, rows float64
	client, server        time.Duration
}

// cpu returns all processor time that is known.
func (c costEach) cpu() time.Duration { return c.client + c.server }

func (s *store) observe(e repo.Event) {
	s.trips.Add(int64(e.Depth))
	s.requests.Add(int64(e.Requests))
	s.rows.Add(int64(e.Rows))
}

// begin returns what has been spent so far, for since.
func (s *store) begin(ctx context.Context) (cost, error) {
	server, err := s.serverTime(ctx) // first, so that asking is in neither time of this process
	return cost{s.trips.Load(), s.requests.Load(), s.rows.Load(), cpuTime(), server}, err
}

// since returns what has been spent since begin.
func (s *store) since(ctx context.Context, before cost) (cost, error) {
	now := cost{s.trips.Load(), s.requests.Load(), s.rows.Load(), cpuTime(), 0}
	var err error
	now.server, err = s.serverTime(ctx)
	return cost{now.trips - before.trips, now.requests - before.requests, now.rows - before.rows,
		now.client - before.client, max(now.server-before.server, 0)}, err // a server that started anew counts from 0
}

// serverTime returns the processor time of the store's server, 0 where there is
// none or it does not tell.
func (s *store) serverTime(ctx context.Context) (time.Duration, error) {
	if s.meter == nil {
		return 0, nil
	}
	return s.meter.CPU(ctx)
}

// learnMeter finds out whether the store's server tells its processor time.
func (s *store) learnMeter(ctx context.Context) error {
	m, ok := s.driver.(driver.Meter)
	if !ok || s.inProcess() {
		return nil
	}
	s.meter = m
	_, err := s.serverTime(ctx)
	if errors.Is(err, driver.ErrUnsupported) {
		s.meter, err = nil, nil
	}
	return err
}

// cpuOf says whose processor time the store's is.
func (s *store) cpuOf() string {
	switch {
	case s.inProcess():
		return "this process (store, callers and clock)"
	case s.meter != nil:
		return "this process and the server, whose other clients and upkeep are in it"
	}
	return "this process alone, as the server does not tell its own"
}
