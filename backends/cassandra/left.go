package cassandra

import (
	"slices"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
)

// What is left of a row that was deleted must not be tombstones: a server ends a read
// that passes many. Its columns get values of no bytes instead, which are none.
//
//   - A dead record without fields is a husk: nothing in all columns but those of the library.
//   - A row or claim of an index leaves its remains: nothing in all columns, _rev among them, by
//     which ranges pass them over. They end by themselves when replicas that missed them
//     must have learnt of them, as tombstones do; and cells that end then are no tombstones
//     either. So such rows are made by UPDATE: INSERT would leave a marker that does not end.

// slack is how much longer remains stay than tombstones, in seconds: less would make them
// tombstones at their end. shortest and mostTTL are bounds of what the server may be told.
const (
	slack    = 60
	shortest = 3600
	mostTTL  = 20 * 365 * 24 * 3600
)

// remainsFor returns for how many seconds remains stay where tombstones do for some.
func remainsFor(grace int) int { return min(max(grace+slack, shortest), mostTTL) }

// left returns the columns that remains have: all that a row of an index may have.
func (c *columns) left(v *view) []string {
	if v.bare {
		return []string{"_rev"}
	}
	return slices.DeleteFunc(slices.Clone(c.names), func(name string) bool {
		return name == "_dead" || name == "_ring" && v.ring == 0
	})
}

// leave returns what to bind for remains.
func (c *columns) leave(v *view) []any {
	names := len(c.left(v))
	args := append(make([]any, 0, names+len(v.parts)+3), v.remains)
	for range names {
		args = append(args, nothing{})
	}
	return args
}

// isHusk reports whether a dead record has no fields.
func isHusk(row *driver.Row) bool {
	return row.Dead && len(row.Extra) == 0 && !slices.ContainsFunc(row.Fields, func(v driver.Value) bool { return !v.IsNone() })
}

// husk binds what is left of a record that died. The value of _later says that those of the
// fields are none.
func (c *columns) husk(args []any, row *driver.Row) {
	for i := range len(c.names) - len(libraryColumns) {
		args[i] = nothing{}
	}
	c.set(args, "_later", nothing{})
	c.set(args, "_dead", true)
	c.set(args, "_extra", "")
	c.setMeta(args, row, false)
}

// again returns what to bind for a dead record that a patch or a fence changes: all of it. Who
// removes a dead record as it was read may then do so without a condition, by the time of
// that reading, since nothing of what comes after it is as old.
func (p *planned) again(c *columns, token *driver.Token) []any {
	row := *p.was
	row.Fields, row.Extra = slices.Clone(row.Fields), slices.Clone(row.Extra)
	if p.Do == driver.Patch {
		p.edit(&row)
	}
	args := p.whole(c, token, &row, false)
	if p.Do == driver.Fence {
		c.set(args, "_ring", ringBytes(row.Ring))
	}
	return args
}

// edit makes row what it is after a patch.
func (p *planned) edit(row *driver.Row) {
	if p.PatchMeta {
		row.Expires, row.Note = p.Row.Expires, p.Row.Note
	}
	for i := range p.Edits {
		e := &p.Edits[i]
		v := p.edited(e)
		if e.Field >= 0 {
			row.Fields[e.Field] = v
			continue
		}
		row.Extra = slices.DeleteFunc(row.Extra, func(q driver.Pair) bool { return q.Name == e.Name })
		if !v.IsNone() {
			row.Extra = append(row.Extra, driver.Pair{Name: e.Name, Value: v})
		}
	}
	slices.SortFunc(row.Extra, byName)
}

// isLeft reports whether the row of which next has read the cells is what is left of one of an
// index: remains, or the marker alone of one that an earlier release made by INSERT.
func (r *reader) isLeft() bool {
	return r.v.class != driver.Records && r.rev >= 0 && r.onlyKey()
}

// onlyKey reports whether the row of which next has read the cells has nothing beside its key.
func (r *reader) onlyKey() bool {
	for i := range r.cells {
		if r.meanings[i] != keyColumn && r.meanings[i] != timeColumn && len(r.cells[i].data) > 0 {
			return false
		}
	}
	return true
}

// isHusk reports whether the row of which next has read the cells is a dead record without
// fields.
func (r *reader) isHusk() bool {
	return r.v.class == driver.Records && r.later >= 0 && r.cells[r.later].isNothing()
}

// isRemnant reports whether a cell of a row of an index has no bytes since an earlier row was deleted
// there: one that was written later need not have written all columns.
func (r *reader) isRemnant(c *cell) bool {
	return r.v.class != driver.Records && len(c.data) == 0 && c.typ != gocql.TypeVarchar && c.typ != gocql.TypeText
}

func (c *cell) isNothing() bool { return c.data != nil && len(c.data) == 0 }
