package redis

import (
	"strconv"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A view is a table as one driver.Table sees it.
type view struct {
	*frame.Table
	store   *store
	head    string // of the names of its keys, up to the partition's text
	ordered bool   // records of which a partition has several
	room    string
	ring    int      // bytes of one; room is the text of it
	ttl     string   // milliseconds after which a dead record goes by itself, 0 if it does not
	dotted  []string // by ordinal: where rows have the field from before it was declared
	inserts inserts
}

func (s *store) newView(t *driver.Table, e *frame.Entry) *view {
	v := &view{
		Table:   frame.NewTable(t, e.Fields),
		store:   s,
		head:    s.conn.prefix + t.Name + ":{",
		ordered: t.Class == driver.Records && len(t.Sort) > 0,
		ring:    tokenSize * max(0, t.Ring),
		ttl:     "0",
		inserts: inserts{of: map[uint64]*wire.Script{}},
	}
	v.room = itoa(v.ring)
	if s.forgets && t.Retention > 0 {
		v.ttl = strconv.FormatInt(max(1, t.Retention.Milliseconds()), 10)
	}
	for _, f := range v.Fields {
		v.dotted = append(v.dotted, "."+f.Name)
	}
	return v
}

// key returns the name of the hash of a record, or of the set of rows of a
// partition.
func (v *view) key(k *driver.Key) string {
	if v.Class != driver.Records {
		return v.set(k.Partition)
	}
	return v.head + k.Partition + "}" + k.Sort
}

// set returns the name of the set of a partition: of its rows, or of the order of
// its records.
func (v *view) set(partition string) string {
	if v.Class == driver.Records {
		return v.head + partition + "}" + orderEnd
	}
	return v.head + partition + "}"
}

// orderEnd ends the names of the orders of records. The text of a sort column ends otherwise, so
// that no record has such a name, nor had one in a table of this name that was dropped.
const orderEnd = ":"

// order returns the name of the set that has the records that are not dead, and what it has
// of one. Records of which a partition has one at most share the set of their slot.
func (v *view) order(k *driver.Key) (set, member string) {
	if v.ordered {
		return v.set(k.Partition), k.Sort
	}
	return v.set(wire.Tags()[wire.SlotOf(k.Partition)]), k.Partition
}
