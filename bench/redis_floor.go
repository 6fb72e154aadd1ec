package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A redisFloor does the work by hand with go-redis: a hash for each post, a sorted
// set for each author and category, one script for each write, and in the hash a
// token that each write changes.
type redisFloor struct {
	client *goredis.Client
	prefix string
}

func openRedisFloor(at place, _ bool) (posts, error) {
	opts, err := goredis.ParseURL(at.url)
	if err != nil {
		return nil, err
	}
	opts.ContextTimeoutEnabled = true
	return &redisFloor{goredis.NewClient(opts), at.prefix() + ":"}, nil
}

// prefix begins the names of a candidate's keys.
func (p *place) prefix() string {
	parts := strings.Split(filepath.ToSlash(p.dir), "/")
	for i, part := range parts {
		if strings.HasPrefix(part, tempPrefix) {
			return strings.Join(parts[i:], ".")
		}
	}
	return tempPrefix + strings.Join(parts[max(len(parts)-2, 0):], ".") // in tests
}

// wipeRedis removes all keys that a prefix begins.
func wipeRedis(ctx context.Context, url, prefix string) error {
	opts, err := goredis.ParseURL(url)
	if err != nil {
		return err
	}
	client := goredis.NewClient(opts)
	defer client.Close()
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, prefix+"*", 1000).Result()
		if err == nil && len(keys) > 0 {
			err = client.Unlink(ctx, keys...).Err()
		}
		if err != nil {
			return fmt.Errorf("remove the keys %s…: %w", prefix, err)
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// redisCPU returns the processor time that a Redis has used since it started.
func redisCPU(ctx context.Context, url string) (time.Duration, error) {
	opts, err := goredis.ParseURL(url)
	if err != nil {
		return 0, err
	}
	client := goredis.NewClient(opts)
	defer client.Close()
	info := client.InfoMap(ctx, "cpu")
	if info.Err() != nil {
		return 0, info.Err()
	}
	sum := 0.0
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(info.Item("CPU", name), 64)
		if err != nil {
			return 0, fmt.Errorf("the server does not tell its processor time: %w", err)
		}
		sum += seconds
	}
	return time.Duration(sum * float64(time.Second)), nil
}

func (f *redisFloor) close() error { return f.client.Close() }

func (f *redisFloor) key(id string) string { return f.prefix + "post:" + id }

func (f *redisFloor) set(index byte, value string) string {
	if index == authorKey {
		return f.prefix + "author:" + value
	}
	return f.prefix + "category:" + value
}

// member is that of a post in a sorted set, newest first.
func member(p *post) string { return fmt.Sprintf("%016x", newestFirst(p.Created)) + p.ID }

var insertScript = goredis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('ZADD', KEYS[3], 0, ARGV[1])
return 1`)

func (f *redisFloor) insert(ctx context.Context, p *post) error {
	p.Version = repo.Version(driver.NewToken())
	keys := []string{f.key(p.ID), f.set(authorKey, p.Author), f.set(categoryKey, p.Category)}
	done, err := insertScript.Run(ctx, f.client, keys, append([]any{member(p)}, fields(p)...)...).Int()
	if err == nil && done == 0 {
		return repo.ErrExists
	}
	return err
}

func fields(p *post) []any {
	return []any{"token", string(p.Version[:]), "id", p.ID, "author", p.Author, "category", p.Category, "title", p.Title, "body", p.Body,
		"views", p.Views, "created", p.Created.UnixMilli()}
}

func (f *redisFloor) get(ctx context.Context, k key) (post, error) {
	return readHash(f.client.HGetAll(ctx, f.key(k.id)).Result())
}

func readHash(m map[string]string, err error) (p post, _ error) {
	if err != nil {
		return p, err
	}
	if len(m) == 0 {
		return p, repo.ErrNotFound
	}
	p = post{ID: m["id"], Author: m["author"], Category: m["category"], Title: m["title"], Body: m["body"]}
	copy(p.Version[:], m["token"])
	if p.Views, err = strconv.ParseInt(m["views"], 10, 64); err != nil {
		return p, err
	}
	ms, err := strconv.ParseInt(m["created"], 10, 64)
	p.Created = time.UnixMilli(ms).UTC()
	return p, err
}

var updateScript = goredis.NewScript(`
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
for i = 2, #KEYS, 2 do
  redis.call('ZREM', KEYS[i], ARGV[2])
  redis.call('ZADD', KEYS[i + 1], 0, ARGV[2])
end
return 1`)

func (f *redisFloor) update(ctx context.Context, k key, version repo.Version, change func(*post) error) (post, error) {
	for {
		old, err := f.get(ctx, k)
		if err == nil && !version.IsZero() && old.Version != version {
			err = repo.ErrConflict
		}
		if err != nil {
			return post{}, err
		}
		next := old
		if err := change(&next); err != nil {
			return post{}, err
		}
		done, err := f.replace(ctx, &old, &next)
		if done || err != nil {
			return next, err
		}
	}
}

// replace writes next if the post is still old. No operation changes the time.
func (f *redisFloor) replace(ctx context.Context, old, next *post) (done bool, err error) {
	next.Version = repo.Version(driver.NewToken())
	keys := []string{f.key(next.ID)}
	for _, index := range []byte{authorKey, categoryKey} {
		if old.in(index) != next.in(index) {
			keys = append(keys, f.set(index, old.in(index)), f.set(index, next.in(index)))
		}
	}
	n, err := updateScript.Run(ctx, f.client, keys, append([]any{string(old.Version[:]), member(next)}, fields(next)...)...).Int()
	return n == 1, err
}

var deleteScript = goredis.NewScript(`
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
return 1`)

func (f *redisFloor) delete(ctx context.Context, k key) error {
	for {
		p, err := f.get(ctx, k)
		if err != nil {
			if errors.Is(err, repo.ErrNotFound) {
				return nil
			}
			return err
		}
		keys := []string{f.key(k.id), f.set(authorKey, p.Author), f.set(categoryKey, p.Category)}
		done, err := deleteScript.Run(ctx, f.client, keys, string(p.Version[:]), member(&p)).Int()
		if done == 1 || err != nil {
			return err
		}
	}
}

func (f *redisFloor) byAuthor(ctx context.Context, author string, n int) ([]post, error) {
	return f.newest(ctx, authorKey, author, n)
}

func (f *redisFloor) byCategory(ctx context.Context, _, category string, n int) ([]post, error) {
	return f.newest(ctx, categoryKey, category, n)
}

func (f *redisFloor) newest(ctx context.Context, index byte, value string, n int) ([]post, error) {
	members, err := f.client.ZRangeArgs(ctx, goredis.ZRangeArgs{Key: f.set(index, value), ByLex: true, Start: "-", Stop: "+", Count: int64(n)}).Result()
	if err != nil {
		return nil, err
	}
	cmds := make([]*goredis.MapStringStringCmd, len(members))
	_, err = f.client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
		for i, m := range members {
			cmds[i] = pipe.HGetAll(ctx, f.key(m[16:]))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := make([]post, 0, len(cmds))
	for _, cmd := range cmds {
		p, err := readHash(cmd.Result())
		switch {
		case errors.Is(err, repo.ErrNotFound) || err == nil && p.in(index) != value: // deleted or changed meanwhile
		case err != nil:
			return nil, err
		default:
			list = append(list, p)
		}
	}
	return slices.Clip(list), nil
}
