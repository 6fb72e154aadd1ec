package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo"
)

// A usualFloor does the work on Redis as people usually write it: a hash with a
// revision that counts, a sorted set by time for each author, a set for each category,
// one script for each write, an update that sends the fields that differ, and a delete
// that looks up by itself in which indexes the post is. What it leaves out is what makes
// it cheap: nothing tells whether a write without an answer was done, a post that was
// deleted and made again has its old revisions again, and a category has no order.
type usualFloor struct {
	client *goredis.Client
	prefix string
}

// usualPool is how many connections people give a client.
const usualPool = 16

func openUsualFloor(at place, _ bool) (posts, error) {
	opts, err := goredis.ParseURL(at.url)
	if err != nil {
		return nil, err
	}
	opts.ContextTimeoutEnabled, opts.PoolSize = true, usualPool
	return &usualFloor{goredis.NewClient(opts), at.prefix() + ":"}, nil
}

func (f *usualFloor) close() error { return f.client.Close() }

func (f *usualFloor) key(id string) string { return f.prefix + "post:" + id }

func (f *usualFloor) author(name string) string { return f.prefix + "author:" + name }

func (f *usualFloor) category(name string) string { return f.prefix + "category:" + name }

// The version of a post is its revision.
func versionOf(revision int64) (v repo.Version) {
	binary.BigEndian.PutUint64(v[8:], uint64(revision))
	return v
}

func revisionOf(v repo.Version) int64 { return int64(binary.BigEndian.Uint64(v[8:])) }

var usualInsert = goredis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'rev', 1, 'author', ARGV[2], 'category', ARGV[3], 'title', ARGV[4], 'body', ARGV[5], 'views', ARGV[6], 'created', ARGV[7])
redis.call('ZADD', KEYS[2], ARGV[7], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[1])
return 1`)

func (f *usualFloor) insert(ctx context.Context, p *post) error {
	keys := []string{f.key(p.ID), f.author(p.Author), f.category(p.Category)}
	done, err := usualInsert.Run(ctx, f.client, keys, p.ID, p.Author, p.Category, p.Title, p.Body, p.Views, p.Created.UnixMilli()).Int()
	if err == nil && done == 0 {
		return repo.ErrExists
	}
	p.Version = versionOf(1)
	return err
}

// usualFields are those that a post is read by.
var usualFields = []string{"rev", "author", "category", "title", "body", "views", "created"}

func (f *usualFloor) get(ctx context.Context, k key) (post, error) {
	values, err := f.client.HMGet(ctx, f.key(k.id), usualFields...).Result()
	if err != nil {
		return post{}, err
	}
	return usualPost(k.id, values)
}

// usualPost makes a post of what HMGET returned.
func usualPost(id string, values []any) (p post, err error) {
	if values[0] == nil {
		return p, repo.ErrNotFound
	}
	p = post{ID: id, Author: values[1].(string), Category: values[2].(string), Title: values[3].(string), Body: values[4].(string)}
	number := func(i int) int64 {
		n, e := strconv.ParseInt(values[i].(string), 10, 64)
		err = cmp.Or(err, e)
		return n
	}
	p.Version, p.Views, p.Created = versionOf(number(0)), number(5), time.UnixMilli(number(6)).UTC()
	return p, err
}

var usualUpdate = goredis.NewScript(`
if redis.call('HGET', KEYS[1], 'rev') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('HINCRBY', KEYS[1], 'rev', 1)
return 1`)

var usualMove = goredis.NewScript(`
if redis.call('HGET', KEYS[1], 'rev') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('HINCRBY', KEYS[1], 'rev', 1)
redis.call('SREM', KEYS[2], ARGV[2])
redis.call('SADD', KEYS[3], ARGV[2])
return 1`)

func (f *usualFloor) update(ctx context.Context, k key, version repo.Version, change func(*post) error) (post, error) {
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
		next.Version = versionOf(revisionOf(old.Version) + 1)
		done, err := f.replace(ctx, &old, &next)
		if done || err != nil {
			return next, err
		}
	}
}

// replace writes the fields in which next differs if the post is still old. Nothing
// changes the author.
func (f *usualFloor) replace(ctx context.Context, old, next *post) (done bool, err error) {
	script, keys, args := usualUpdate, []string{f.key(next.ID)}, []any{revisionOf(old.Version)}
	if old.Category != next.Category {
		script, keys = usualMove, append(keys, f.category(old.Category), f.category(next.Category))
		args = append(args, next.ID, "category", next.Category)
	}
	if old.Title != next.Title {
		args = append(args, "title", next.Title)
	}
	if old.Views != next.Views {
		args = append(args, "views", next.Views)
	}
	if len(args) == 1 {
		args = append(args, "title", next.Title)
	}
	n, err := script.Run(ctx, f.client, keys, args...).Int()
	return n == 1, err
}

var usualDelete = goredis.NewScript(`
local at = redis.call('HMGET', KEYS[1], 'author', 'category')
if not at[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('ZREM', ARGV[2] .. 'author:' .. at[1], ARGV[1])
redis.call('SREM', ARGV[2] .. 'category:' .. at[2], ARGV[1])
return 1`)

func (f *usualFloor) delete(ctx context.Context, k key) error {
	return usualDelete.Run(ctx, f.client, []string{f.key(k.id)}, k.id, f.prefix).Err()
}

func (f *usualFloor) byAuthor(ctx context.Context, author string, n int) ([]post, error) {
	ids, err := f.client.ZRangeArgs(ctx, goredis.ZRangeArgs{Key: f.author(author), Start: 0, Stop: n - 1, Rev: true}).Result()
	if err != nil {
		return nil, err
	}
	return f.getAll(ctx, ids, func(p *post) bool { return p.Author == author })
}

// byCategory sorts all posts of a category, which has no order by itself.
func (f *usualFloor) byCategory(ctx context.Context, _, category string, n int) ([]post, error) {
	ids, err := f.client.SMembers(ctx, f.category(category)).Result()
	if err != nil {
		return nil, err
	}
	list, err := f.getAll(ctx, ids, func(p *post) bool { return p.Category == category })
	slices.SortFunc(list, func(a, b post) int { return b.Created.Compare(a.Created) })
	return list[:min(n, len(list))], err
}

// getAll returns the posts that are there and still meet a condition.
func (f *usualFloor) getAll(ctx context.Context, ids []string, meets func(*post) bool) ([]post, error) {
	cmds := make([]*goredis.SliceCmd, len(ids))
	_, err := f.client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
		for i, id := range ids {
			cmds[i] = pipe.HMGet(ctx, f.key(id), usualFields...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := make([]post, 0, len(ids))
	for i, cmd := range cmds {
		p, err := usualPost(ids[i], cmd.Val())
		switch {
		case errors.Is(err, repo.ErrNotFound) || err == nil && !meets(&p): // deleted or changed meanwhile
		case err != nil:
			return nil, err
		default:
			list = append(list, p)
		}
	}
	return list, nil
}
