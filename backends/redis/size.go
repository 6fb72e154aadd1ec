package redis

import (
	"context"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
)

// size asks for the memory of all keys of a table.
func (s *store) size(ctx context.Context, v *view) (total int64, err error) {
	doing := "size of " + v.Name
	err = s.eachKey(ctx, v, func(keys []string, done []listed) error {
		for _, one := range done {
			keys = append(keys, one.name)
		}
		cmds := make([]*goredis.RawCmd, len(keys))
		for i, key := range keys {
			cmds[i] = goredis.NewRawCmd(ctx, "memory", "usage", key, "samples", "0")
		}
		return s.conn.askEach(ctx, doing, "", cmds, func(_ int, r *wire.Reply) error {
			text, there := r.Text()
			if !there {
				return nil
			}
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return who.Corrupt("%s: the answer to MEMORY USAGE is no number", doing)
			}
			total += n
			return nil
		})
	})
	return total, err
}
