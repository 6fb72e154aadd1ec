package cassandra

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// What is left of a row that was deleted must not be tombstones: a server ends a read
// that passes many. Its columns get what reads as no value instead: no bytes, or noText.
// So whatever comes to lie over such cells, a row that a program wrote which does not know
// all columns, or one on replicas that missed a sweep, takes nothing from them.
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
	if v.KeyOnly {
		return []string{"_rev"}
	}
	return slices.DeleteFunc(slices.Clone(c.names), func(name string) bool {
		return name == "_dead" || name == "_ring" && v.Ring == 0
	})
}

// leave returns what to bind for remains.
func (c *columns) leave(v *view) []any {
	names := c.left(v)
	args := append(make([]any, 0, len(names)+len(v.Partition)+3), v.remains)
	for _, name := range names {
		if isOwn(name) {
			args = append(args, nothing{})
		} else {
			args = append(args, none{})
		}
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
		args[i] = none{}
	}
	c.set(args, "_later", nothing{})
	c.set(args, "_dead", true)
	c.set(args, "_extra", "")
	c.setMeta(args, row, false)
}

// again returns what to bind for a dead record that a patch or a fence changes: all of it. A sweep
// that removes a dead record as it was read may then do so without a condition, by the time at
// which that was written, since nothing of what comes after it is as old.
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
		row.Expires, row.Meta = p.Row.Expires, p.Row.Meta
	}
	for i := range p.Edits {
		e := &p.Edits[i]
		v := p.edited(e)
		if e.Field >= 0 {
			row.Fields[e.Field] = v
			continue
		}
		frame.SetExtra(row, e.Name, v)
	}
	frame.SortExtra(row.Extra)
}

// isLeft reports whether the row of which next has read the cells is what is left of one of an
// index: remains, or the marker alone of one that an earlier release made by INSERT.
func (r *reader) isLeft() bool {
	return r.v.Class != driver.Records && r.rev >= 0 && r.isEmpty()
}

// isEmpty is isLeft of a row that is known to be one of an index.
func (r *reader) isEmpty() bool {
	if r.cells[r.rev].isNothing() {
		return true
	}
	for i := range r.cells {
		if r.meanings[i] != keyColumn && r.meanings[i] != timeColumn && r.cells[i].data != nil {
			return false
		}
	}
	return true
}

// isHusk reports whether the row of which next has read the cells is a dead record without
// fields.
func (r *reader) isHusk() bool {
	return r.v.Class == driver.Records && r.later >= 0 && r.dead >= 0 && r.cells[r.later].isNothing() && r.cells[r.dead].isTrue()
}

// isBare reports whether the row of which next has read the cells, of all columns or of a husk, is a dead
// record of which nothing would show through one that was inserted over it.
func (r *reader) isBare() bool {
	if r.dead < 0 || !r.cells[r.dead].isTrue() {
		return false
	}
	for i := range r.cells {
		c := &r.cells[i]
		switch name := r.names[i]; {
		case name == "_note" || name == "_extra":
			if len(c.data) > 0 {
				return false
			}
		case (r.meanings[i] >= 0 || r.meanings[i] == otherColumn) && !c.isNone():
			return false
		}
	}
	return true
}
