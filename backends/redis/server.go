package redis

import (
	"context"
	"strconv"
	"strings"
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

// askServer sends a command to one server, and returns the answer.
func (c *conn) askServer(ctx context.Context, doing string, server goredis.UniversalClient, args ...any) (r wire.Reply, err error) {
	cmd := goredis.NewRawCmd(ctx, args...)
	sent := driver.TallyOf(ctx).Begin(ctx, 1)
	err = server.Process(ctx, cmd)
	if sent.End(1, 1, err); err == nil {
		r = wire.ReplyOf(cmd)
		err = r.Refused()
	}
	return r, c.failed(ctx, doing, err)
}

// info asks one server for a section of INFO.
func (c *conn) info(ctx context.Context, doing string, server goredis.UniversalClient, section string) (map[string]string, error) {
	r, err := c.askServer(ctx, doing, server, "info", section)
	text, _ := r.Text()
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info, err
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
	for _, server := range masters {
		info, err := c.info(ctx, "processor time: INFO", server, "cpu")
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
	}
	return total, nil
}

// erase removes all keys under the prefix. It looks at all keys of the servers.
func (c *conn) erase(ctx context.Context) error {
	masters, err := c.masters(ctx, "erase")
	for i := 0; err == nil && i < len(masters); i++ {
		var keys []string
		cursor := uint64(0)
		for begun := false; err == nil && (cursor > 0 || !begun); begun = true {
			if keys, cursor, err = masters[i].Scan(ctx, cursor, c.prefix+"*", 500).Result(); err != nil {
				return c.failed(ctx, "erase", err)
			}
			err = c.unlink(ctx, "erase", keys)
		}
	}
	return err
}
