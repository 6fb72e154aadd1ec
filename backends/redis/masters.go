package redis

import (
	"context"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
)

// masters returns clients of all servers that write: the one, or those of a cluster.
func (s *Store) masters(ctx context.Context, doing string) ([]goredis.UniversalClient, error) {
	r, ok := s.client.(*router)
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
func (s *Store) info(ctx context.Context, doing string, client goredis.UniversalClient, section string) (map[string]string, error) {
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
	r := replyOf(cmd)
	if err := r.refused(); err != nil {
		return nil, s.failed(ctx, doing, err)
	}
	text, _ := r.text()
	return parseInfo(text), nil
}
