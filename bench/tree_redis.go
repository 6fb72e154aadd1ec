package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A treeOnRedis keeps a tree by hand with go-redis: a hash for each node, with a token that each write changes, a
// sorted set of the children of each node, with paths one of all nodes in depth-first order, and a guard, which a move
// changes. A write reads what it goes by in one pipeline, and is one script, which sees that nothing of that has
// changed. What is read of several nodes is of one state, by the guard before and after.
//
// It leaves out what the floor of trees on Pebble does: places between two siblings, deletes, and fields that it does
// not know. A move of many nodes is one script, however long others wait.
type treeOnRedis struct {
	client *goredis.Client
	prefix string
	paths  bool
}

func redisTreeFloorOf(paths bool) func(at place) (trees, error) {
	return func(at place) (trees, error) {
		opts, err := goredis.ParseURL(at.url)
		if err != nil {
			return nil, err
		}
		opts.ContextTimeoutEnabled = true
		return &treeOnRedis{goredis.NewClient(opts), at.prefix() + ":", paths}, nil
	}
}

func (f *treeOnRedis) close() error { return f.client.Close() }

func (f *treeOnRedis) node(id string) string { return f.prefix + "node:" + id }

func (f *treeOnRedis) list(id string) string { return f.prefix + "children:" + id }

func (f *treeOnRedis) order() string { return f.prefix + "paths" }

func (f *treeOnRedis) guard() string { return f.prefix + "guard" }

// A path is the steps from the root on, each with a NUL behind it. A step is a place, of 16 digits, and an ID.
func step(place uint64, id string) string { return fmt.Sprintf("%016x", place) + id }

func idOfStep(step string) string { return step[16:] }

func below(path, step string) string { return path + step + "\x00" }

func stepsOf(path string) []string { return strings.Split(strings.TrimSuffix(path, "\x00"), "\x00") }

func newTreeToken() string {
	t := driver.NewToken()
	return string(t[:])
}

func hashOf(n *node, place, path string) []any {
	return []any{"token", newTreeToken(), "id", n.id, "parent", n.parent, "place", place, "path", path, "title", n.title, "body", n.body}
}

func (f *treeOnRedis) load(ctx context.Context, list []node) error {
	paths, last := map[string]string{}, map[string]uint64{}
	for some := range slices.Chunk(list, 500) {
		_, err := f.client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
			for i := range some {
				n := &some[i]
				last[n.parent] += placeStep
				at := step(last[n.parent], n.id)
				paths[n.id] = below(paths[n.parent], at)
				pipe.HSet(ctx, f.node(n.id), hashOf(n, at, f.kept(paths[n.id]))...)
				pipe.ZAdd(ctx, f.list(n.parent), goredis.Z{Member: at})
				if f.paths {
					pipe.ZAdd(ctx, f.order(), goredis.Z{Member: paths[n.id]})
				}
			}
			return pipe.Set(ctx, f.guard(), newTreeToken(), 0).Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// kept is a path where paths are kept.
func (f *treeOnRedis) kept(path string) string {
	if f.paths {
		return path
	}
	return ""
}

// A bough is what is read of a node that another one comes below.
type bough struct{ token, parent, path, place string }

// bough queues the reads of a node and of its last child in a pipeline.
func (f *treeOnRedis) bough(ctx context.Context, pipe goredis.Pipeliner, id string) func() (bough, error) {
	of := pipe.HMGet(ctx, f.node(id), "token", "parent", "path")
	last := pipe.ZRangeArgs(ctx, goredis.ZRangeArgs{Key: f.list(id), Start: 0, Stop: 0, Rev: true})
	return func() (b bough, err error) {
		v := of.Val()
		if len(v) < 3 || v[0] == nil {
			return b, repo.ErrNotFound
		}
		place := uint64(0)
		if list := last.Val(); len(list) > 0 {
			place, err = strconv.ParseUint(list[0][:16], 16, 64)
		}
		return bough{v[0].(string), v[1].(string), v[2].(string), fmt.Sprintf("%016x", place+placeStep)}, err
	}
}

var growScript = goredis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 2 end
if redis.call('HGET', KEYS[2], 'token') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
redis.call('ZADD', KEYS[3], 0, ARGV[2])
if ARGV[3] ~= '' then redis.call('ZADD', KEYS[4], 0, ARGV[3]) end
return 1`)

func (f *treeOnRedis) insert(ctx context.Context, n *node) error {
	for {
		pipe := f.client.Pipeline()
		parent := f.bough(ctx, pipe, n.parent)
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		to, err := parent()
		if err != nil {
			return err
		}
		at := to.place + n.id
		path := f.kept(below(to.path, at))
		keys := []string{f.node(n.id), f.node(n.parent), f.list(n.parent), f.order()}
		done, err := growScript.Run(ctx, f.client, keys, append([]any{to.token, at, path}, hashOf(n, at, path)...)...).Int()
		switch {
		case err != nil || done == 1:
			return err
		case done == 2:
			return repo.ErrExists
		}
	}
}

// The script moves the paths of what lies below the node, too.
var transferScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('HGET', KEYS[2], 'token') ~= ARGV[2] or redis.call('HGET', KEYS[3], 'token') ~= ARGV[3] then return 0 end
redis.call('SET', KEYS[1], ARGV[4])
redis.call('HSET', KEYS[2], 'token', ARGV[4], 'parent', ARGV[5], 'place', ARGV[7])
redis.call('ZREM', KEYS[4], ARGV[6])
redis.call('ZADD', KEYS[5], 0, ARGV[7])
local from, to = ARGV[8], ARGV[9]
if to == '' then return 1 end
for _, old in ipairs(redis.call('ZRANGEBYLEX', KEYS[6], '[' .. from, '(' .. from .. '\255')) do
  local new = to .. string.sub(old, #from + 1)
  redis.call('ZREM', KEYS[6], old)
  redis.call('ZADD', KEYS[6], 0, new)
  local id = string.sub(string.match(old, '([^%z]*)%z$'), 17)
  redis.call('HSET', ARGV[10] .. id, 'path', new, 'token', ARGV[4])
end
return 1`)

func (f *treeOnRedis) move(ctx context.Context, id, to string) error {
	for {
		pipe := f.client.Pipeline()
		guard, of, parent := pipe.Get(ctx, f.guard()), pipe.HMGet(ctx, f.node(id), "token", "parent", "place", "path"), f.bough(ctx, pipe, to)
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		under, err := parent()
		n := of.Val()
		if err != nil || n[0] == nil {
			return repo.ErrNotFound
		}
		if err := f.outside(ctx, id, n[3].(string), to, under); err != nil {
			return err
		}
		at, path := under.place+id, ""
		if f.paths {
			path = below(under.path, under.place+id)
		}
		keys := []string{f.guard(), f.node(id), f.node(to), f.list(n[1].(string)), f.list(to), f.order()}
		done, err := transferScript.Run(ctx, f.client, keys, guard.Val(), n[0], under.token, newTreeToken(), to, n[2], at, n[3], path, f.node("")).Int()
		if err != nil || done == 1 {
			return err
		}
	}
}

// outside is tree.ErrBelowItself if a node is the one to which it is moved, or lies above it.
func (f *treeOnRedis) outside(ctx context.Context, id, path, to string, under bough) (err error) {
	if f.paths {
		if strings.HasPrefix(under.path, path) {
			return tree.ErrBelowItself
		}
		return nil
	}
	for at, above := to, under.parent; ; {
		if at == id {
			return tree.ErrBelowItself
		}
		if at = above; at == "" {
			return nil
		}
		if above, err = f.client.HGet(ctx, f.node(at), "parent").Result(); err != nil {
			return err
		}
	}
}

func (f *treeOnRedis) children(ctx context.Context, parent string, n int, visit func(node)) (more bool, err error) {
	steps, err := f.client.ZRangeArgs(ctx, goredis.ZRangeArgs{Key: f.list(parent), ByLex: true, Start: "-", Stop: "+", Count: int64(n + 1)}).Result()
	if err != nil {
		return false, err
	}
	if more = len(steps) > n; more {
		steps = steps[:n]
	}
	ids := make([]string, len(steps))
	for i := range steps {
		ids[i] = idOfStep(steps[i])
	}
	list, _, err := f.nodes(ctx, ids, false)
	for i := range list {
		if list[i].parent == parent { // it was not moved meanwhile
			visit(list[i])
		}
	}
	return more, err
}

// nodes reads nodes by ID, and then the guard if that is wanted, in one pipeline.
func (f *treeOnRedis) nodes(ctx context.Context, ids []string, guarded bool) (list []node, guard string, err error) {
	cmds, last := make([]*goredis.MapStringStringCmd, len(ids)), (*goredis.StringCmd)(nil)
	_, err = f.client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
		for i, id := range ids {
			cmds[i] = pipe.HGetAll(ctx, f.node(id))
		}
		if guarded {
			last = pipe.Get(ctx, f.guard())
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if guarded {
		guard = last.Val()
	}
	list = make([]node, 0, len(ids))
	for _, cmd := range cmds {
		m := cmd.Val()
		if len(m) == 0 {
			return list, guard, repo.ErrNotFound
		}
		list = append(list, node{id: m["id"], parent: m["parent"], title: m["title"], body: m["body"]})
	}
	return list, guard, nil
}

// begin reads the guard, and of a node what leads to others.
func (f *treeOnRedis) begin(ctx context.Context, id string) (guard, parent, path string, err error) {
	pipe := f.client.Pipeline()
	is, of := pipe.Get(ctx, f.guard()), pipe.HMGet(ctx, f.node(id), "parent", "path")
	if _, err = pipe.Exec(ctx); err != nil {
		return "", "", "", err
	}
	v := of.Val()
	if v[0] == nil {
		return "", "", "", repo.ErrNotFound
	}
	return is.Val(), v[0].(string), v[1].(string), nil
}

func (f *treeOnRedis) ancestors(ctx context.Context, id string, visit func(node)) error {
	for {
		guard, parent, path, err := f.begin(ctx, id)
		if err != nil {
			return err
		}
		var list []node
		after := ""
		if f.paths {
			var ids []string
			for _, at := range stepsOf(path) {
				ids = append(ids, idOfStep(at))
			}
			list, after, err = f.nodes(ctx, ids[:len(ids)-1], true)
		} else {
			list, after, err = f.climb(ctx, parent)
		}
		if after != guard && err == nil || errors.Is(err, repo.ErrNotFound) {
			continue
		}
		for i := range list {
			visit(list[i])
		}
		return err
	}
}

// climb reads a node and its ancestors, from the root on, with the guard.
func (f *treeOnRedis) climb(ctx context.Context, id string) (list []node, guard string, err error) {
	for id != "" {
		var one []node
		if one, guard, err = f.nodes(ctx, []string{id}, true); err != nil {
			return nil, guard, err
		}
		list, id = append(list, one...), one[0].parent
	}
	if list == nil {
		_, guard, err = f.nodes(ctx, nil, true)
	}
	slices.Reverse(list)
	return list, guard, err
}

func (f *treeOnRedis) subtree(ctx context.Context, id string, visit func(node)) error {
	for {
		guard, _, path, err := f.begin(ctx, id)
		if err != nil {
			return err
		}
		var list []node
		after := ""
		if f.paths {
			list, after, err = f.under(ctx, path)
		} else if list, err = f.descend(ctx, id, 1); err == nil {
			after, err = f.client.Get(ctx, f.guard()).Result()
		}
		if after != guard && err == nil || errors.Is(err, repo.ErrNotFound) {
			continue
		}
		for i := range list {
			visit(list[i])
		}
		return err
	}
}

// under reads a range of the paths, and then the nodes, in as many pipelines as it takes with 100 each.
func (f *treeOnRedis) under(ctx context.Context, path string) (list []node, guard string, err error) {
	paths, err := f.client.ZRangeArgs(ctx, goredis.ZRangeArgs{Key: f.order(), ByLex: true, Start: "(" + path, Stop: "(" + path + "\xff"}).Result()
	if err != nil {
		return nil, "", err
	}
	ids, depths := make([]string, len(paths)), make([]int, len(paths))
	for i := range paths {
		steps := stepsOf(paths[i][len(path):])
		ids[i], depths[i] = idOfStep(steps[len(steps)-1]), len(steps)
	}
	for some := range slices.Chunk(ids, 100) {
		part, is, err := f.nodes(ctx, some, true)
		if err != nil {
			return nil, is, err
		}
		list, guard = append(list, part...), is
	}
	for i := range list {
		list[i].depth = depths[i]
	}
	if len(list) == 0 {
		_, guard, err = f.nodes(ctx, nil, true)
	}
	return list, guard, err
}

// descend reads list after list.
func (f *treeOnRedis) descend(ctx context.Context, id string, depth int) (list []node, err error) {
	var children []node
	if _, err = f.children(ctx, id, 1<<30, func(n node) { children = append(children, n) }); err != nil {
		return nil, err
	}
	for _, n := range children {
		n.depth = depth
		more, err := f.descend(ctx, n.id, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(append(list, n), more...)
	}
	return list, nil
}
