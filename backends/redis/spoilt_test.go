package redis_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// Whatever another program does to the keys of a store panics no reader, and no error tells
// what is private.
func TestSpoilt(t *testing.T) {
	t.Parallel()
	server, s, _ := own(t)
	admin := raw(t, server.Addr)
	sp := backendtest.Spoilt{Kind: "table", Rounds: 4, Turns: 12, Store: func(*testing.T) driver.Store { return s },
		Spoil: func(t *testing.T, rng *rand.Rand, s driver.Store, name string) driver.Store {
			keys := do(t, admin, "KEYS", "*"+name+"*").([]any)
			slices.SortFunc(keys, func(a, b any) int { return cmp.Compare(a.(string), b.(string)) })
			for range 1 + rng.IntN(3) {
				spoil(t, rng, admin, keys[rng.IntN(len(keys))].(string))
			}
			return s
		}}
	sp.Check(t)
}

func spoil(t *testing.T, rng *rand.Rand, admin *goredis.Client, key string) {
	t.Helper()
	form := do(t, admin, "TYPE", key)
	switch {
	case rng.IntN(12) == 0:
		do(t, admin, "SET", key, backendtest.Hush)
	case form == "hash" && rng.IntN(6) == 0:
		do(t, admin, "HSET", key, backendtest.Hush, backendtest.Garbled(rng, ""))
	case form == "hash":
		fields := do(t, admin, "HKEYS", key).([]any)
		field := fields[rng.IntN(len(fields))].(string)
		if rng.IntN(5) == 0 {
			do(t, admin, "HDEL", key, field)
			return
		}
		value, _ := do(t, admin, "HGET", key, field).(string)
		do(t, admin, "HSET", key, field, backendtest.Garbled(rng, value))
	case form == "zset":
		members := do(t, admin, "ZRANGE", key, 0, -1).([]any)
		member := members[rng.IntN(len(members))].(string)
		if rng.IntN(3) > 0 {
			do(t, admin, "ZREM", key, member)
		}
		do(t, admin, "ZADD", key, 0, backendtest.Garbled(rng, member))
	}
}
