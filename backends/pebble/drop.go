package pebble

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// Drop removes the tables with all their rows. Their numbers are not used again.
func (s *store) Drop(ctx context.Context, tables []*driver.Table) error {
	// With every lock held no commit is between its look at dropped and its batch.
	s.locks.lockAll()
	defer s.locks.unlockAll()
	if err := s.eraseTables(ctx, tables); err != nil {
		return err
	}
	for _, t := range tables {
		if have := s.tables[t.Name]; have != nil {
			have.dropped = true
			delete(s.tables, t.Name)
		}
	}
	return nil
}
