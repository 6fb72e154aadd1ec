package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
)

// askHash returns the command that reads a whole hash. A list of texts is the least work
// for the client; by version 3 of the protocol the answer is a map and cannot be read so.
func (s *store) askHash(ctx context.Context, key *string) goredis.Cmder {
	if s.maps {
		return goredis.NewMapStringStringCmd(ctx, "hgetall", key)
	}
	return goredis.NewStringSliceCmd(ctx, "hgetall", key)
}

// hashOf returns the answer to askHash.
func hashOf(cmd goredis.Cmder) wire.Hash {
	if c, ok := cmd.(*goredis.StringSliceCmd); ok {
		return c.Val()
	}
	var h wire.Hash
	for name, text := range cmd.(*goredis.MapStringStringCmd).Val() {
		h = append(h, name, text)
	}
	return h
}
