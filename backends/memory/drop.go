package memory

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// Drop removes the tables with all their rows.
func (s *store) Drop(_ context.Context, tables []*driver.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tables {
		delete(s.tables, t.Name)
		if t.Native && s.tables[t.Home.Name] != nil {
			delete(s.tables[t.Home.Name].natives, t.Name)
		}
	}
	return nil
}
