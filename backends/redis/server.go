package redis

import (
	"context"
	"strconv"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
)

// masters returns clients of all servers that write: the one, or those of a cluster.
func (c *conn) masters(ctx context.Context, doing string) ([]goredis.UniversalClient, error) {
	r, ok := c.client.(*wire.Router)
	if !ok {
		return []goredis.UniversalClient{c.client}, nil
	}
	var mu sync.Mutex
	var list []goredis.UniversalClient
	err := r.ForEachMaster(ctx, func(_ context.Context, node *goredis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, node)
		return nil
	})
	if err != nil {
		r.ReloadState(ctx)
		return nil, c.failed(ctx, doing, err)
	}
	return list, nil
}

// info asks one server for a section of INFO, "" for what it gives unasked.
func (c *conn) info(ctx context.Context, doing string, client goredis.UniversalClient, section string) (map[string]string, error) {
	words := []any{"info"}
	if section != "" {
		words = append(words, section)
	}
	cmd := goredis.NewRawCmd(ctx, words...)
	sent := driver.TallyOf(ctx).Begin(ctx, 1)
	err := client.Process(ctx, cmd)
	if sent.End(1, 1, err); err != nil {
		return nil, c.failed(ctx, doing, err)
	}
	r := wire.ReplyOf(cmd)
	if err := r.Refused(); err != nil {
		return nil, c.failed(ctx, doing, err)
	}
	text, _ := r.Text()
	return parseInfo(text), nil
}

// time asks the server, or one of the masters of a cluster.
func (c *conn) time(ctx context.Context) (time.Time, error) {
	const doing = "tell the time"
	r, err := c.ask(ctx, doing, "time")
	if wire.CodeOf(err) == "NOPERM" {
		return time.Time{}, who.Unsupported("%s: %s: the user may not run TIME", doing, c.addr)
	}
	if err != nil {
		return time.Time{}, err
	}
	n := r.List()
	seconds, micros := r.Number(), r.Number()
	if n != 2 || r.Bad {
		return time.Time{}, who.Unsupported("%s: the answer of %s cannot be read", doing, c.addr)
	}
	return time.Unix(seconds, micros*1000), nil
}

// cpu asks all masters.
func (c *conn) cpu(ctx context.Context) (time.Duration, error) {
	masters, err := c.masters(ctx, "processor time")
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, client := range masters {
		used, err := c.cpuOf(ctx, client)
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

func (c *conn) cpuOf(ctx context.Context, client goredis.UniversalClient) (total time.Duration, err error) {
	info, err := c.info(ctx, "processor time: INFO", client, "cpu")
	if err != nil {
		return 0, err
	}
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			return 0, who.Unsupported("processor time: %s does not tell %s", c.addr, name)
		}
		total += time.Duration(seconds * float64(time.Second))
	}
	return total, nil
}

// erase removes all keys under the prefix.
func (c *conn) erase(ctx context.Context) error {
	masters, err := c.masters(ctx, "erase")
	for i := 0; err == nil && i < len(masters); i++ {
		err = c.eraseFrom(ctx, masters[i])
	}
	return err
}

// eraseFrom removes the keys under the prefix that one server has. It looks at all of its keys.
func (c *conn) eraseFrom(ctx context.Context, server goredis.UniversalClient) error {
	for cursor, begun := uint64(0), false; cursor > 0 || !begun; begun = true {
		keys, next, err := server.Scan(ctx, cursor, c.prefix+"*", 500).Result()
		if err != nil {
			return c.failed(ctx, "erase", err)
		}
		if err := c.unlink(ctx, "erase", keys); err != nil {
			return err
		}
		cursor = next
	}
	return nil
}
