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

// A directory is the list of names, or all of them.
type directory struct{ conn *conn }

// lists is how many lists of names there are.
func (d *directory) lists() int {
	if d.conn.inCluster() {
		return wire.Slots
	}
	return 1
}

// list returns the name of a list, by its number.
func (d *directory) list(n int) string {
	if d.conn.inCluster() {
		return d.conn.prefix + listName + "{" + wire.Tags()[n] + "}"
	}
	return d.conn.prefix + listName
}

// listOf returns the name of the list that has the keys of a partition.
func (d *directory) listOf(partition string) string {
	if d.conn.inCluster() {
		return d.list(wire.SlotOf(partition))
	}
	return d.list(0)
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

// after returns names of a table's keys that come after a place, in order; more says
// whether there may be others, and from which place on.
func (d *directory) after(ctx context.Context, doing, head string, after listed) (found []listed, next listed, more bool, err error) {
	for next = after; len(found) == 0 && next.list < d.lists(); {
		if found, next, err = d.ask(ctx, doing, head, next); err != nil {
			return nil, after, false, err
		}
	}
	return found, next, next.list < d.lists(), nil
}

// ask asks some lists, from a place on, and returns the place behind what was found.
func (d *directory) ask(ctx context.Context, doing, head string, after listed) (found []listed, next listed, err error) {
	n := min(d.lists()-after.list, listsAtOnce)
	cmds := make([]*goredis.RawCmd, n)
	for i := range cmds {
		from := "[" + head
		if i == 0 && after.name != "" {
			from = "(" + after.name
		}
		cmds[i] = goredis.NewRawCmd(ctx, "zrange", d.list(after.list+i), from, "("+head+"\xff", "bylex", "limit", "0", namesAtOnce)
	}
	if err := d.conn.askAll(ctx, doing, cmds); err != nil {
		return nil, after, err
	}
	for i, cmd := range cmds {
		r, err := d.conn.reply(ctx, doing, "zset", cmd)
		if err != nil {
			return nil, after, err
		}
		names := r.List()
		for range names {
			name, _ := r.Text()
			found = append(found, listed{after.list + i, name})
		}
		if names == namesAtOnce || len(found) >= 4*namesAtOnce { // read on from there
			next = listed{list: after.list + i + 1}
			if names == namesAtOnce {
				next = found[len(found)-1]
			}
			return found, next, nil
		}
	}
	return found, listed{list: after.list + n}, nil
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
