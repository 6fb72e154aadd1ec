package pebble

import (
	"context"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Size returns the bytes that a table takes in the sorted tables. So that it
// counts what was written just now it flushes first, unless nothing can be
// written.
func (s *Store) Size(ctx context.Context, t *driver.Table) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	v, err := s.view(t)
	if err != nil {
		return 0, err
	}
	if err := s.flush(ctx); err != nil {
		return 0, err
	}
	n, err := s.db.EstimateDiskUsage(v.prefix, v.end)
	return int64(n), s.failed("size of "+v.name, err)
}

// flush waits until all that was written lies in sorted tables, or cannot.
func (s *Store) flush(ctx context.Context) error {
	if s.writable(ctx) != nil {
		return ended(ctx)
	}
	done, err := s.db.AsyncFlush()
	if err != nil {
		return s.failed("flush", err)
	}
	look := time.NewTicker(tablePause)
	defer look.Stop()
	for s.health.blocked.Load() == nil {
		select {
		case <-done:
			return nil
		case <-s.disk.gone:
			return nil
		case <-look.C:
		case <-ctx.Done():
			return ended(ctx)
		}
	}
	return nil
}
