package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
)

// Get reads the rows under keys into rows, by one command a key in one pipeline.
func (s *store) Get(ctx context.Context, v *view, keys []driver.Key, mask []int, rows []driver.Row) error {
	doing, names := "get a row of "+v.Name, make([]string, len(keys))
	for i := range keys {
		names[i] = v.key(&keys[i])
		rows[i].Reset()
		rows[i].Key = keys[i]
	}
	if v.Class == driver.Records && mask == nil {
		return s.getHashes(ctx, doing, v, names, rows)
	}
	cmds := make([]*goredis.RawCmd, len(keys))
	for i := range keys {
		if v.Class == driver.Records {
			cmds[i] = goredis.NewRawCmd(ctx, v.askSome(&names[i], mask)...)
			continue
		}
		from, to := "["+keys[i].Sort, "("+bound(driver.After(keys[i].Sort))
		cmds[i] = goredis.NewRawCmd(ctx, "zrange", &names[i], from, to, "bylex", "limit", "0", "1")
	}
	return s.conn.askEach(ctx, doing, v.form(), cmds, func(i int, r *wire.Reply) error { return v.readRow(r, mask, &rows[i]) })
}

// getHashes is Get for whole records. Their hashes are not read raw: each answer would
// be read into memory that grows from nothing.
func (s *store) getHashes(ctx context.Context, doing string, v *view, names []string, rows []driver.Row) error {
	cmds := make([]goredis.Cmder, len(names))
	for i := range names {
		cmds[i] = s.conn.askHash(ctx, &names[i])
	}
	if err := sendAll(ctx, s.conn, cmds); err != nil && wire.CodeOf(err) == "" {
		return s.conn.failed(ctx, doing, err)
	}
	for i, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			return s.conn.refusedKeys(ctx, doing, err, names[i:i+1], []string{v.form()})
		}
		if err := v.readHash(ctx, hashOf(cmd), &rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// form returns the type of the keys that the table's rows lie in.
func (v *view) form() string {
	if v.Class == driver.Records {
		return "hash"
	}
	return "zset"
}

// bound returns the end of a span. No text of a key begins with its stand-in.
func bound(to string) string {
	if to == "" {
		return "\xff"
	}
	return to
}

// readRow reads what was answered for one row, of records with a mask.
func (v *view) readRow(r *wire.Reply, mask []int, row *driver.Row) error {
	if v.Class == driver.Records {
		return v.readSome(r, mask, row)
	}
	if r.List() == 0 {
		return nil
	}
	member, _ := r.Text()
	return v.readWhole(member, mask, row)
}

// askHash returns the command that reads a whole hash. A list of texts is the least work
// for the client; by version 3 of the protocol the answer is a map and cannot be read so.
func (c *conn) askHash(ctx context.Context, key *string) goredis.Cmder {
	if c.maps {
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
