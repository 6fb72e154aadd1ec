package redis

import (
	"context"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
)

// Size returns the memory of all keys of a table but dead records that go by themselves.
func (s *Store) Size(ctx context.Context, t *driver.Table) (total int64, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	v, err := s.view(t)
	if err != nil {
		return 0, err
	}
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

func (s *Store) memoryOf(ctx context.Context, v *view, keys []string) (total int64, err error) {
	cmds := make([]*goredis.RawCmd, len(keys))
	for i, key := range keys {
		cmds[i] = goredis.NewRawCmd(ctx, "memory", "usage", key, "samples", "0")
	}
	if err := s.askAll(ctx, "size of "+v.name, cmds); err != nil {
		return 0, err
	}
	for _, cmd := range cmds {
		r := replyOf(cmd)
		if err := r.refused(); err != nil {
			return 0, s.failed(ctx, "size of "+v.name, err)
		}
		if text, there := r.text(); there {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return 0, corrupt("size of %s: the answer to MEMORY USAGE is no number", v.name)
			}
			total += n
		}
	}
	return total, nil
}
