package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"
)

// erase removes all keys under the prefix.
func (s *store) erase(ctx context.Context) error {
	masters, err := s.masters(ctx, "erase")
	for i := 0; err == nil && i < len(masters); i++ {
		err = s.eraseFrom(ctx, masters[i])
	}
	return err
}

// eraseFrom removes the keys under the prefix that one server has. It looks at all of its keys.
func (s *store) eraseFrom(ctx context.Context, server goredis.UniversalClient) error {
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
