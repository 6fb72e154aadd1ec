package redis

import (
	"context"
	"errors"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Drop removes the tables with all their rows, some hundreds of keys at a time.
func (s *store) Drop(ctx context.Context, tables []*driver.Table) error {
	have, err := s.conn.entries(ctx, "drop", tables...)
	if err != nil {
		return err
	}
	for _, t := range tables {
		e := have[t.Name]
		switch {
		case e.Layout < layout:
			return who.Earlier(t, e.Layout, layout)
		case e.Layout > layout:
			return who.Later(t, e.Layout, layout)
		}
		v := s.newView(t, e)
		h, _ := frame.ParseHeader(e.Header)
		v.ordered = len(h.Sort) > 0
		doing := "drop " + t.Name
		err := s.eachKey(ctx, v, func(keys []string, done []listed) error {
			if err := s.conn.unlink(ctx, doing, keys); err != nil {
				return err
			}
			return s.unlist(ctx, doing, done)
		})
		if err != nil {
			return err
		}
		if _, err := s.conn.ask(ctx, doing, "unlink", s.conn.prefix+catalogName+t.Name); err != nil {
			return err
		}
	}
	return nil
}

// unlink removes keys.
func (c *conn) unlink(ctx context.Context, doing string, keys []string) error {
	cmds := make([]*goredis.RawCmd, len(keys))
	for i := range keys {
		cmds[i] = goredis.NewRawCmd(ctx, "unlink", &keys[i])
	}
	return c.askEach(ctx, doing, "", cmds, func(int, *wire.Reply) error { return nil })
}

// dropText removes listed keys, and their names from the list.
const dropText = `for i = 2, #KEYS do
  redis.call('UNLINK', KEYS[i])
  redis.call('ZREM', KEYS[1], KEYS[i])
end
return {}`

// unlist removes listed keys, and their names from their lists.
func (s *store) unlist(ctx context.Context, doing string, done []listed) error {
	for len(done) > 0 {
		list := done[0].list
		words := []string{s.list(list)}
		for ; len(done) > 0 && done[0].list == list; done = done[1:] {
			words = append(words, done[0].name)
		}
		_, err := s.conn.eval(ctx, dropScript, words, nil)
		for tries := 1; tries < wire.ReadTries && errors.Is(err, driver.ErrUnknownOutcome) && who.Over(ctx) == nil; tries++ {
			_, err = s.conn.eval(ctx, dropScript, words, nil)
		}
		if err != nil {
			return fmt.Errorf("redis: %s: %w", doing, err)
		}
	}
	return nil
}
