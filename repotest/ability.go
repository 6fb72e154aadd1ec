package repotest

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// Follow follows a trail, or is ErrUnsupported if the store within does not.
func (s *Store) Follow(ctx context.Context, trail driver.Trail, beside []*driver.Table, yield func(i int, row *driver.Row) bool) error {
	type found struct {
		of  int
		row *driver.Row
	}
	read := func(next func(found) bool) error {
		f, ok := s.inner.(driver.Follower)
		if !ok {
			return fmt.Errorf("repotest: follow: the store within follows nothing: %w", driver.ErrUnsupported)
		}
		return f.Follow(ctx, trail, beside, func(i int, row *driver.Row) bool { return next(found{i, row}) })
	}
	return through(ctx, s, Follow, trail.Index, read, func(x found) bool { return yield(x.of, x.row) })
}

// Group groups rows, or is ErrUnsupported if the store within does not.
func (s *Store) Group(ctx context.Context, g driver.Grouping, yield func(*driver.Group) bool) error {
	read := func(next func(*driver.Group) bool) error {
		grouper, ok := s.inner.(driver.Grouper)
		if !ok {
			return fmt.Errorf("repotest: group: the store within groups nothing: %w", driver.ErrUnsupported)
		}
		return grouper.Group(ctx, g, next)
	}
	return through(ctx, s, Group, g.Span.Table, read, yield)
}

// through calls yield with what read finds, until it meets a fault.
func through[T any](ctx context.Context, s *Store, c Call, t *driver.Table, read func(func(T) bool) error, yield func(T) bool) error {
	found := func(next func(T, error) bool) {
		stopped := false
		err := read(func(x T) bool {
			stopped = !next(x, nil)
			return !stopped
		})
		if err != nil && !stopped {
			var none T
			next(none, err)
		}
	}
	for x, err := range loop(ctx, s, c, t, found) {
		if err != nil {
			return err
		}
		if !yield(x) {
			break
		}
	}
	return nil
}
