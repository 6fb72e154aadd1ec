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
func (s *store) masters(ctx context.Context, doing string) ([]goredis.UniversalClient, error) {
	r, ok := s.client.(*wire.Router)
	if !ok {
		return []goredis.UniversalClient{s.client}, nil
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
		return nil, s.failed(ctx, doing, err)
	}
	return list, nil
}

// info asks one server for a section of INFO, "" for what it gives unasked.
func (s *store) info(ctx context.Context, doing string, client goredis.UniversalClient, section string) (map[string]string, error) {
	words := []any{"info"}
	if section != "" {
		words = append(words, section)
	}
	cmd := goredis.NewRawCmd(ctx, words...)
	sent := driver.TallyOf(ctx).Begin(ctx, 1)
	err := client.Process(ctx, cmd)
	if sent.End(1, 1, err); err != nil {
		return nil, s.failed(ctx, doing, err)
	}
	r := wire.ReplyOf(cmd)
	if err := r.Refused(); err != nil {
		return nil, s.failed(ctx, doing, err)
	}
	text, _ := r.Text()
	return parseInfo(text), nil
}

// time asks the server, or one of the masters of a cluster.
func (s *store) time(ctx context.Context) (time.Time, error) {
	const doing = "tell the time"
	r, err := s.ask(ctx, doing, "time")
	if wire.CodeOf(err) == "NOPERM" {
		return time.Time{}, who.Unsupported("%s: %s: the user may not run TIME", doing, s.addr)
	}
	if err != nil {
		return time.Time{}, err
	}
	n := r.List()
	seconds, micros := r.Number(), r.Number()
	if n != 2 || r.Bad {
		return time.Time{}, who.Unsupported("%s: the answer of %s cannot be read", doing, s.addr)
	}
	return time.Unix(seconds, micros*1000), nil
}

// cpu asks all masters.
func (s *store) cpu(ctx context.Context) (time.Duration, error) {
	masters, err := s.masters(ctx, "processor time")
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, client := range masters {
		used, err := s.cpuOf(ctx, client)
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

func (s *store) cpuOf(ctx context.Context, client goredis.UniversalClient) (total time.Duration, err error) {
	info, err := s.info(ctx, "processor time: INFO", client, "cpu")
	if err != nil {
		return 0, err
	}
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			return 0, who.Unsupported("processor time: %s does not tell %s", s.addr, name)
		}
		total += time.Duration(seconds * float64(time.Second))
	}
	return total, nil
}

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
