package cassandra

import (
	"context"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// Erase removes the keyspace, whose name must begin with driver.Temporary: by one statement, where
// to drop its tables takes one for each.
func (s *Store) Erase(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if !strings.HasPrefix(s.keyspace, driver.Temporary) {
		return invalid("erase: the name of the keyspace %q does not begin with %q, so that others may need what is there", s.keyspace, driver.Temporary)
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	return s.change(ctx, "erase", "DROP KEYSPACE IF EXISTS "+quoted(s.keyspace))
}
