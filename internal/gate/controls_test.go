package gate_test

import (
	"context"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A control spoils one statement, or the store itself, and names the check that
// must notice.
type control struct {
	check string
	label string // of the statement
	old   string
	new   string
	wrap  func(store) store
	error string // of the server, where it notices itself; else the check finds a difference
}

// everyStore are the controls that do not spoil a statement.
func everyStore() []control {
	return []control{
		{check: "large", wrap: func(s store) store { return cutting{s} }},
		{check: "authors", wrap: func(s store) store { return folding{s} }},
		{check: "several", wrap: func(s store) store { return oneByOne{s} }},
		{check: "racing", wrap: func(s store) store { return blind{s} }},
		{check: "deaths", wrap: func(s store) store { return blind{s} }},
	}
}

// cutting keeps 64 KiB of a text.
type cutting struct{ store }

func (s cutting) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	ops = slices.Clone(ops)
	for i := range ops {
		fields := slices.Clone(ops[i].Row.Fields)
		for j, v := range fields {
			if v.Kind() == driver.String && len(v.Str()) > 1<<16 {
				fields[j] = text(v.Str()[:1<<16])
			}
		}
		ops[i].Row.Fields = fields
	}
	return s.store.Commit(ctx, token, ops)
}

// folding takes capitals for small letters in partitions.
type folding struct{ store }

func (s folding) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i].Row.Key.Partition = strings.ToLower(ops[i].Row.Key.Partition)
	}
	return s.store.Commit(ctx, token, ops)
}

func (s folding) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	folded := slices.Clone(keys)
	for i := range folded {
		folded[i].Partition = strings.ToLower(folded[i].Partition)
	}
	err := s.store.Get(ctx, t, folded, mask, rows)
	for i := range keys {
		rows[i].Key = keys[i]
	}
	return err
}

// oneByOne does the ops of a commit one after the other.
type oneByOne struct{ store }

func (s oneByOne) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	for i := range ops {
		if r, err := s.store.Commit(ctx, token, ops[i:i+1]); r != nil || err != nil {
			if r != nil {
				r.Op = i
			}
			return r, err
		}
	}
	return nil, nil
}

// blind forgets the conditions of a commit.
type blind struct{ store }

func (s blind) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i].If = driver.Any
	}
	return s.store.Commit(ctx, token, ops)
}

func redisControls() []control {
	return append(everyStore(), []control{
		{check: "conditions", label: "redis/insert", old: "if call('HLEN', row) > 0 then", new: "if false then"},
		{check: "replay", label: "redis/insert", old: "if (got[2] or ''):find(token, 1, true) then return {-1} end", new: ""},
		{check: "several", label: "redis/insert", old: ", span(ARGV[own + 2 * i - bare - 3])) > 0", new: ", '[x', '[x') > 0"},
		{check: "deaths", label: "redis/remove", old: "if call('HGET', row, '_rev') ~= ARGV[2] then return {-2} end", new: ""},
		{check: "deaths", label: "redis/remove", old: "'_rev', ring:sub(1, 16)", new: "'_rev', ARGV[2]"},
		{check: "deaths", label: "redis/remove", old: "for i = 3, bare do", new: "for i = 4, bare do"},
		{check: "deaths", label: "redis/remove", old: "for i = bare + 1, #KEYS do", new: "for i = bare + 2, #KEYS do"},
		{check: "conditions", label: "redis/put", old: "(not rev or dead)", new: "not rev"},
		{check: "conditions", label: "redis/commit", old: "#op.cond == 16 and rev ~= op.cond", new: "#op.cond == 16 and not rev"},
		{check: "conditions of claims", label: "redis/commit", old: "row[1]:sub(#op.sort + 1, #op.sort + 16)", new: "token"},
		{check: "replay", label: "redis/put", old: "if ring:find(token, 1, true) then return {-1} end", new: ""},
		{check: "replay", label: "redis/patch", old: "(token .. ring)", new: "token"},
		{check: "expiry", label: "redis/put", old: "if ARGV[first] == '_dead' then",
			new: "if call('HEXISTS', row, '_expires') == 1 then call('PEXPIREAT', row, 1) end\nif ARGV[first] == '_dead' then"},
		{check: "dead", label: "redis/put", old: "if call('ZREM', order, sort) == 1 then leave(order) end", new: "join(order, sort)"},
		{check: "dead", label: "redis/put", old: "if ARGV[first] == '_dead' then", new: "if dead then"},
		{check: "dead", label: "redis/commit", old: "if ARGV[op.from] ~= '_dead' then", new: "if true then"},
		{check: "dead", label: "redis/commit", old: "if call('ZREM', op.order, op.sort) == 1 then leave(op.order) end\nend", new: "end"},
		{check: "dead", label: "redis/commit", old: "if op.cond == 'absent' then", new: "if false then"},
		{check: "patches", label: "redis/patch", old: "call('HINCRBY', row, ARGV[f], ARGV[f + 1])",
			new: "call('HSET', row, ARGV[f], string.format('%.0f', (call('HGET', row, ARGV[f]) or 0) + ARGV[f + 1]))", error: "out of range"},
		{check: "patches", label: "redis/over", old: "high > 9223372036 or", new: "high > 9e9 or"},
		{check: "values", label: "redis/insert", old: ".. ARGV[a + 1])", new: ".. cjson.encode(cjson.decode(ARGV[a + 1])))"},
		{check: "large", label: "redis/put", old: "math.min(first + 3999, #ARGV)", new: "#ARGV", error: "too many results to unpack"},
		{check: "order", label: "redis/insert", old: "'0', ARGV[own + i - 2]", new: "#ARGV[own + i - 2], ARGV[own + i - 2]"},
		{check: "order", label: "redis/range", old: "(?to", new: "[?to"},
		{check: "order", label: "redis/count", old: "(?to", new: "[?to"},
		{check: "several", label: "redis/rows", old: "for i = 1, gone do count(KEYS[k + i]) end", new: "call('HSET', KEYS[1], '_note', 'half')"},
		{check: "walk", label: "redis/names", old: "LIMIT 0", new: "LIMIT 1"},
		{check: "walk", label: "redis/insert", old: "for i = 1, #new do call('ZADD', all, '0', new[i]) end", new: ""},
		{check: "walk", label: "redis/insert", old: "if call('ZCARD', KEYS[i]) == 0 then", new: "if call('ZCARD', KEYS[i]) == 1 then"},
		{check: "walk", label: "redis/remove", old: "if ARGV[4] == '0' then call('ZADD', all, '0', row)", new: "if false then"},
		{check: "walk", label: "redis/remove", old: "if call('EXISTS', few[i]) == 0 then", new: "do"},
		{check: "walk", label: "redis/sets", old: "    call('ZADD', all, '0', key)\n", new: ""},
		{check: "walk", label: "redis/sets", old: "  full[key] = call('EXISTS', key) > 0\n", new: "  full[key] = false\n"},
		{check: "remote", label: "redis/rows", old: "if call('ZREMRANGEBYLEX', KEYS[k + i], span(ARGV[at + i])) > 0 then leave(KEYS[k + i]) end", new: ""},
	}...)
}

func mongoControls() []control {
	return append(everyStore(), []control{
		{check: "conditions", label: "mongo/present", old: `, "_dead": {"$ne": true}`, new: ""},
		{check: "conditions of claims", label: "mongo/at-rev", old: `, "_rev": "?rev"`, new: ""},
		{check: "replay", label: "mongo/present", old: `"_ring": {"$ne": "?token"}, `, new: ""},
		{check: "replay", label: "mongo/any", old: `, "_ring": {"$ne": "?token"}`, new: ""},
		{check: "dead", label: "mongo/live", old: `, "_dead": {"$ne": true}`, new: ""},
		{check: "dead", label: "mongo/fence", old: "?token", new: "?where"},
		{check: "expiry", label: "mongo/live", old: `"$lt": "?to"}`, new: `"$lt": "?to"}, "_expires": {"$not": {"$lt": {"$date": {"$numberLong": "1000"}}}}`},
		{check: "patches", label: "mongo/patch", old: `"$inc"`, new: `"$max"`},
		{check: "patches", label: "mongo/addable", old: `"long"`, new: `"number"`},
		{check: "values", label: "mongo/put", old: `{"$literal": "?row"}`, new: `"?row"`, error: "FieldPath"},
		{check: "order", label: "mongo/live", old: `"$lt"`, new: `"$lte"`},
		{check: "order", label: "mongo/span", old: `"$gte"`, new: `"$gt"`},
		{check: "order", label: "mongo/range", old: `"?direction"`, new: "1"},
		{check: "order", label: "mongo/count", old: `{"$match": "?where"}, `, new: ""},
		{check: "several", label: "mongo/touch", old: `"$in": [["$_id", "$_rev"], {"$literal": "?revs"}]`,
			new: `"$anyElementTrue": [{"$map": {"input": {"$literal": "?revs"}, "in": {"$in": ["$_rev", "$$this"]}}}]`},
		{check: "several", label: "mongo/at-rev", old: `, "_rev": "?rev"`, new: ""},
		{check: "walk", label: "mongo/walk", old: `{"_id": 1}`, new: `{"_id": -1}`},
		{check: "remote", label: "mongo/delete", old: `"?where"`, new: `{"_id": ""}`},
	}...)
}

func cassandraControls() []control {
	return append(everyStore(), []control{
		{check: "conditions", label: "cassandra/present", old: ` AND "_dead" != true`, new: ""},
		{check: "conditions of claims", label: "cassandra/absent-row", old: "IN (null, 0x)", new: "!= 0x00"},
		{check: "conditions of claims", label: "cassandra/present-row", old: `"_rev" > 0x`, new: `"_rev" != null`},
		{check: "expiry", label: "cassandra/live-rows", old: `"_rev" > 0x`, new: `"_rev" >= 0x`},
		{check: "conditions of claims", label: "cassandra/at-rev", old: "=", new: "!="},
		{check: "replay", label: "cassandra/update", old: `"_rev" = ?, "_ring" = ?`, new: `"_ring" = ?, "_rev" = ?`},
		{check: "expiry", label: "cassandra/live", old: "false", new: `false AND "_expires" > 5`},
		{check: "dead", label: "cassandra/live", old: `"_dead" = false`, new: `"_rev" > 0x`},
		{check: "dead", label: "cassandra/range-reverse", old: "<live>", new: ""},
		{check: "dead", label: "cassandra/count", old: "<live>", new: ""},
		{check: "patches", label: "cassandra/update", old: `"select" = ?, "Select" = ?`, new: `"Select" = ?, "select" = ?`},
		{check: "values", label: "cassandra/insert", old: `"tags", "meta"`, new: `"meta", "tags"`},
		{check: "order", label: "cassandra/range", old: `"_sort" < ?`, new: `"_sort" <= ?`},
		{check: "order", label: "cassandra/range-reverse", old: "DESC", new: "ASC"},
		{check: "order", label: "cassandra/count", old: `"_sort" >= ?`, new: `"_sort" > ?`},
		{check: "walk", label: "cassandra/walk-after", old: ") >", new: ") <"},
	}...)
}
