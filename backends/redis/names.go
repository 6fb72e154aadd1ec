package redis

import (
	"context"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
)

// The list of names has the name of each set, and of each dead record that does not go by
// itself. It is a sorted set, which the scripts keep in step with what they write, so that
// the keys of a table are found without a look at those of others. A script has keys of one
// slot only: one server has one list, a cluster one for each slot.
const listName = "_keys"

// lists returns how many lists of names there are.
func (s *store) lists() int {
	if s.conn.inCluster() {
		return wire.Slots
	}
	return 1
}

// list returns the name of a list, by its number.
func (s *store) list(n int) string {
	if s.conn.inCluster() {
		return s.conn.prefix + listName + "{" + wire.Tags()[n] + "}"
	}
	return s.conn.prefix + listName
}

// listOf returns the name of the list that has the keys of a partition.
func (s *store) listOf(partition string) string {
	if s.conn.inCluster() {
		return s.list(wire.SlotOf(partition))
	}
	return s.list(0)
}

// A listed key is one of a list of names.
type listed struct {
	list int
	name string
}

const (
	listsAtOnce = 2048 // lists of a cluster that are asked in one pipeline
	namesAtOnce = 256  // names that a list is asked for
)

// names asks some lists for a table's keys that come after a place, in order, and returns the place behind what was
// found. There are no others when that is behind the last list.
func (s *store) names(ctx context.Context, doing, head string, after listed) (found []listed, next listed, err error) {
	cmds := make([]*goredis.RawCmd, min(s.lists()-after.list, listsAtOnce))
	for i := range cmds {
		from := "[" + head
		if i == 0 && after.name != "" {
			from = "(" + after.name
		}
		cmds[i] = goredis.NewRawCmd(ctx, "zrange", s.list(after.list+i), from, "("+head+"\xff", "bylex", "limit", "0", namesAtOnce)
	}
	if err := s.conn.askAll(ctx, doing, cmds); err != nil {
		return nil, after, err
	}
	for i, cmd := range cmds {
		r, err := s.conn.reply(ctx, doing, "zset", cmd)
		if err != nil {
			return nil, after, err
		}
		names := r.Texts()
		for _, name := range names {
			found = append(found, listed{after.list + i, name})
		}
		next = listed{list: after.list + i + 1}
		if len(names) == namesAtOnce { // there may be more in this list
			next = found[len(found)-1]
		}
		if len(names) == namesAtOnce || len(found) >= 4*namesAtOnce {
			break
		}
	}
	return found, next, nil
}

// keyOf returns the key of a record, or the partition of a set, from its name.
func (v *view) keyOf(name string) (driver.Key, bool) {
	rest, ok := strings.CutPrefix(name, v.head)
	partition, sort, closed := strings.Cut(rest, "}")
	return driver.Key{Partition: partition, Sort: sort}, ok && closed
}

// isSet reports whether a listed key is a set: of rows, or the order of records. Else it is a
// dead record.
func (v *view) isSet(key driver.Key) bool {
	return v.Class != driver.Records || key.Sort == orderEnd
}
