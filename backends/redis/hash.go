package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"
)

// A hash is the fields of a record as the server tells them: each name is followed by
// its text.
type hash []string

// A field is one of a hash.
type field struct{ name, text string }

func (h hash) len() int { return len(h) / 2 }

// all is the fields in the server's order.
func (h hash) all(yield func(name, text string) bool) {
	for i := 0; i+1 < len(h) && yield(h[i], h[i+1]); i += 2 {
	}
}

// askHash returns the command that reads a whole hash. A list of texts is the least work
// for the client; by version 3 of the protocol the answer is a map and cannot be read so.
func (s *store) askHash(ctx context.Context, key *string) goredis.Cmder {
	if s.maps {
		return goredis.NewMapStringStringCmd(ctx, "hgetall", key)
	}
	return goredis.NewStringSliceCmd(ctx, "hgetall", key)
}

// hashOf returns the answer to askHash.
func hashOf(cmd goredis.Cmder) hash {
	if c, ok := cmd.(*goredis.StringSliceCmd); ok {
		return c.Val()
	}
	var h hash
	for name, text := range cmd.(*goredis.MapStringStringCmd).Val() {
		h = append(h, name, text)
	}
	return h
}
