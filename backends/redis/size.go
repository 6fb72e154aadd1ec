package redis

import (
	"context"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
)

// size asks for the memory of all keys of a table.
func (s *store) size(ctx context.Context, v *view) (total int64, err error) {
	err = s.eachKey(ctx, v, func(keys []string, done []listed) error {
		for _, one := range done {
			keys = append(keys, one.name)
		}
		n, err := s.memoryOf(ctx, v, keys)
		total += n
		return err
	})
	return total, err
}

func (s *store) memoryOf(ctx context.Context, v *view, keys []string) (total int64, err error) {
	cmds := make([]*goredis.RawCmd, len(keys))
	for i, key := range keys {
		cmds[i] = goredis.NewRawCmd(ctx, "memory", "usage", key, "samples", "0")
	}
	if err := s.askAll(ctx, "size of "+v.Name, cmds); err != nil {
		return 0, err
	}
	for _, cmd := range cmds {
		r := wire.ReplyOf(cmd)
		if err := r.Refused(); err != nil {
			return 0, s.failed(ctx, "size of "+v.Name, err)
		}
		if text, there := r.Text(); there {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return 0, who.Corrupt("size of %s: the answer to MEMORY USAGE is no number", v.Name)
			}
			total += n
		}
	}
	return total, nil
}
