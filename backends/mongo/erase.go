package mongo

import (
	"context"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// Erase removes the database, whose name must begin with driver.Temporary.
func (s *Store) Erase(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if !strings.HasPrefix(s.db, driver.Temporary) {
		return invalid("erase: the name of the database %q does not begin with %q, so that others may need what is there", s.db, driver.Temporary)
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	w := make(writer, 0, 128)
	w.begin()
	w.int32("dropDatabase", 1)
	return s.alter(ctx, "erase", w, codeNoNamespace)
}
