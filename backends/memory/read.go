package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// Get reads the rows under keys into rows.
func (s *store) Get(_ context.Context, v *view, keys []driver.Key, mask []int, rows []driver.Row) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, k := range keys {
		v.load(&rows[i], k, v.rows.get(k.Partition+k.Sort), mask)
	}
	return nil
}

func (r *row) driverKey() driver.Key {
	return driver.Key{Partition: r.key[:r.cut], Sort: r.key[r.cut:]}
}

// load sets out to the stored row, which may be nil, in the view's ordinals.
func (v *view) load(out *driver.Row, key driver.Key, r *row, mask []int) {
	out.Reset()
	out.Key = driver.Key{Partition: key.Partition, Sort: key.Sort}
	if r == nil {
		return
	}
	out.Rev, out.Expires, out.Dead, out.Meta = r.rev, r.expires, r.dead, r.note
	out.Ring = append(out.Ring, r.ring...)
	if mask == nil {
		v.loadAll(out, r)
		return
	}
	for _, ordinal := range mask {
		out.Fields = append(out.Fields, r.field(v.Fields[ordinal].Name))
	}
}

func (v *view) loadAll(out *driver.Row, r *row) {
	for range v.Fields {
		out.Fields = append(out.Fields, driver.Value{})
	}
	for _, f := range r.fields {
		if ordinal, ok := v.Ordinals[f.Name]; ok {
			out.Fields[ordinal] = f.Value
		} else {
			out.Extra = append(out.Extra, f)
		}
	}
}

func byName(p driver.Pair, name string) int { return strings.Compare(p.Name, name) }

// field returns the value of a field, absent if the row has none.
func (r *row) field(name string) driver.Value {
	if i, ok := slices.BinarySearchFunc(r.fields, name, byName); ok {
		return r.fields[i].Value
	}
	return driver.Value{}
}
