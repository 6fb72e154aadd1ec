package redis

import (
	"context"
	"strings"

	goredis "github.com/redis/go-redis/v9"

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
	masters, err := s.masters(ctx, "erase")
	for i := 0; err == nil && i < len(masters); i++ {
		err = s.eraseFrom(ctx, masters[i])
	}
	return err
}

// eraseFrom removes the keys under the prefix that one server has. It looks at all of its keys.
func (s *Store) eraseFrom(ctx context.Context, server goredis.UniversalClient) error {
	for cursor, begun := uint64(0), false; cursor > 0 || !begun; begun = true {
		keys, next, err := server.Scan(ctx, cursor, s.prefix+"*", 500).Result()
		if err != nil {
			return s.failed(ctx, "erase", err)
		}
		if err := s.unlink(ctx, "erase", keys, nil); err != nil {
			return err
		}
		cursor = next
	}
	return nil
}
