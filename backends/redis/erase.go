package redis

import (
	"context"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// Erase removes all keys under the prefix, which must begin with driver.Temporary.
func (s *Store) Erase(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if !strings.HasPrefix(s.prefix, driver.Temporary) {
		return invalid("erase: the prefix %q does not begin with %q, so that others may need what is there", s.prefix, driver.Temporary)
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	return s.unlinkAll(ctx, "erase", s.prefix+"*")
}
