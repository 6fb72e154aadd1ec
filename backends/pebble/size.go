package pebble

import (
	"context"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Size returns the bytes that a table takes in the sorted tables. So that it
// counts what was written just now it flushes first, unless nothing can be
// written.
func (s *Store) Size(ctx context.Context, t *driver.Table) (int64, error) {
	return frame.Read(ctx, s.in.frame, t, nil, func(v *view) (int64, error) { return s.in.size(ctx, v) })
}

func (s *store) size(ctx context.Context, v *view) (int64, error) {
	if err := s.flush(ctx); err != nil {
		return 0, err
	}
	n, err := s.db.EstimateDiskUsage(v.prefix, v.end)
	return int64(n), s.failed("size of "+v.name, err)
}

// flush waits until all that was written lies in sorted tables, or cannot.
func (s *store) flush(ctx context.Context) error {
	if s.writable(ctx) != nil {
		return who.Over(ctx)
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
			return who.Over(ctx)
		}
	}
	return nil
}
