package cassandra

import (
	"slices"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/internal/tagged"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A planned op is an op and, if that had to be read, what is there.
type planned struct {
	*driver.Op
	v    *view
	was  *driver.Row
	died bool // an attempt found that the record is dead
}

// needsRead reports whether the statement of an op must name what is there: the ring
// that it carries on, a sum, fields that were not declared, and whatever has no
// condition of its own.
func (p *planned) needsRead(alone bool) bool {
	switch {
	case p.died:
		return true
	case p.If == driver.Absent:
		return alone && (p.Do == driver.Check || p.Do == driver.Delete)
	case p.Do == driver.Check:
		return p.If == driver.Present || alone
	case p.Do == driver.Fence, p.Do == driver.Delete:
		return false
	case p.v.Class != driver.Records:
		return alone && p.If == driver.Any
	case p.If != driver.AtRev:
		return p.v.Ring > 0 || p.Do == driver.Put || slices.ContainsFunc(p.Edits, p.v.readsFirst)
	case p.v.Ring > 0 && len(p.Row.Ring) == 0:
		return true
	case p.Do == driver.Put: // over fields that another program may have declared since
		return p.Row.Hint != p.v.number
	}
	return slices.ContainsFunc(p.Edits, p.v.readsFirst)
}

// readsFirst reports whether an edit depends on what is there.
func (v *view) readsFirst(e driver.Edit) bool {
	if e.Do == driver.Add || e.Field < 0 {
		return true
	}
	return v.Late[e.Field] && (e.Do == driver.Unset || e.Value.IsNone())
}

// condition returns what the statement of an op is conditional on.
func (p *planned) condition() (driver.Cond, driver.Token) {
	switch {
	case p.was == nil:
		return p.If, p.Rev
	case p.was.Rev.IsZero():
		return driver.Absent, driver.Token{}
	}
	return driver.AtRev, p.was.Rev
}

// statement returns the statement of an op with what to bind.
func (p *planned) statement(token *driver.Token, alone bool) (string, []any, error) {
	cond, rev := p.condition()
	text, args := p.change(token, cond)
	if !p.v.Unconditional {
		text += p.suffix(cond, alone)
	}
	args, err := p.v.key(args, &p.Row.Key)
	if cond == driver.AtRev {
		args = append(args, rev[:])
	}
	return text, args, err
}

// suffix returns the condition of a statement. What is left of a row of an index has no
// bytes in _rev, and is no row. A part of a dead record is never written: see again.
func (p *planned) suffix(cond driver.Cond, alone bool) string {
	record := p.v.Class == driver.Records
	switch {
	case cond == driver.Absent && !record:
		return ` IF "_rev" IN (null, 0x)`
	case cond == driver.Absent && p.isCheck(cond):
		return ` IF "_rev" = null`
	case cond == driver.Absent:
		return " IF NOT EXISTS"
	case cond == driver.Present && record:
		return ` IF "_rev" != null AND "_dead" != true`
	case cond == driver.AtRev && (p.Do == driver.Patch || p.Do == driver.Fence) && !p.onDead():
		return ` IF "_rev" = ? AND "_dead" = false`
	case cond == driver.AtRev:
		return ` IF "_rev" = ?`
	case alone && p.Do == driver.Delete && record:
		return " IF EXISTS"
	case cond == driver.Present, alone && p.Do == driver.Delete:
		return ` IF "_rev" > 0x`
	}
	return ""
}

// isCheck reports whether an op changes nothing, if it has a condition.
func (p *planned) isCheck(cond driver.Cond) bool {
	return p.Do == driver.Check || p.Do == driver.Delete && cond == driver.Absent
}

// onDead reports whether the op is on a record that was read and is dead.
func (p *planned) onDead() bool { return p.was != nil && p.was.Dead }

// change returns the statement of an op without its condition, and what to bind before
// the key.
func (p *planned) change(token *driver.Token, cond driver.Cond) (string, []any) {
	c := p.v.columns.Load()
	switch {
	case p.isCheck(cond):
		return c.mark, p.v.few(gocql.UnsetValue)
	case p.Do == driver.Delete && p.v.Class == driver.Records:
		return c.remove, nil
	case p.Do == driver.Delete:
		return c.empty, c.leave(p.v)
	case p.v.KeyOnly:
		return c.mark, p.v.few(token[:])
	case p.Do == driver.Fence && cond == driver.AtRev && !p.onDead():
		return c.mark, p.v.few(token[:])
	case p.Do == driver.Patch && !p.onDead():
		return c.update.of(p.patched(c, token))
	case cond == driver.Absent && p.v.Class == driver.Records:
		row := &p.Row
		if p.Do == driver.Fence {
			row = &driver.Row{Dead: true, Expires: p.Row.Expires}
		}
		return c.insert.of(p.whole(c, token, row, true))
	case p.Do == driver.Put:
		return c.update.of(p.whole(c, token, &p.Row, p.v.Unconditional))
	}
	return c.update.of(p.again(c, token))
}

// few returns what to bind for one column, with room for the key and a condition.
func (v *view) few(value any) []any {
	return append(make([]any, 0, len(v.Partition)+3), value)
}

// unset returns what to bind where nothing changes, with room for the key.
func (c *columns) unset(v *view) []any {
	args := make([]any, len(c.names), len(c.names)+len(v.Partition)+2)
	for i := range args {
		args[i] = gocql.UnsetValue
	}
	return args
}

func (c *columns) set(args []any, name string, value any) { args[c.at[name]] = value }

// whole returns what to bind for all columns of a row. Where there is none yet, what the
// row has not is left alone, but for its ring and expiry: a null would leave a tombstone. Else
// only fields get nulls, and the rest values that say nothing.
func (p *planned) whole(c *columns, token *driver.Token, row *driver.Row, fresh bool) []any {
	args := c.unset(p.v)
	c.set(args, "_rev", token[:])
	switch {
	case p.v.Ring > 0 && p.Do != driver.Fence:
		c.set(args, "_ring", p.ring(token))
	case p.v.Ring > 0 && fresh:
		c.set(args, "_ring", nothing{})
	}
	if !fresh && isHusk(row) {
		c.husk(args, row)
		return args
	}
	late := false
	for i := range p.v.Fields {
		switch {
		case i < len(row.Fields) && !row.Fields[i].IsNone():
			args[i] = bindable(row.Fields[i])
			late = late || p.v.Late[i]
		case !fresh:
			args[i] = nil
		}
	}
	if !fresh {
		for _, name := range c.others {
			c.set(args, name, nil)
		}
	}
	inside := c.undeclared(args, row.Extra)
	if late = late || len(inside) < len(row.Extra); late || !fresh && p.v.Class == driver.Records {
		c.set(args, "_later", late)
	}
	if p.v.Class == driver.Records { // a missing flag is not false
		c.set(args, "_dead", row.Dead)
	}
	if len(inside) > 0 || !fresh {
		c.set(args, "_extra", taggedExtra(inside))
	}
	c.setMeta(args, row, fresh)
	return args
}

func (c *columns) setMeta(args []any, row *driver.Row, fresh bool) {
	c.set(args, "_expires", row.Expires) // over that of a dead record which is not yet swept everywhere
	if row.Meta != "" || !fresh {
		c.set(args, "_note", row.Meta)
	}
}

// undeclared binds fields that another program declares, with the value's kind, and
// returns the others.
func (c *columns) undeclared(args []any, extra []driver.Pair) (inside []driver.Pair) {
	for _, pair := range extra {
		k, ok := c.kinds[pair.Name]
		switch {
		case pair.Value.IsNone():
		case ok && k.Kind == pair.Value.Kind():
			c.set(args, pair.Name, bindable(pair.Value))
		default:
			inside = append(inside, pair)
		}
	}
	return inside
}

// taggedExtra returns what _extra has of fields, in the order of their names.
func taggedExtra(extra []driver.Pair) string {
	if len(extra) == 0 {
		return ""
	}
	pairs := make([]driver.Value, 0, 2*len(extra))
	for _, p := range extra {
		pairs = append(pairs, driver.StringValue(p.Name), p.Value)
	}
	return string(tagged.Append(nil, driver.MapValue(pairs)))
}

// ring returns the ring of a row after its change.
func (p *planned) ring(token *driver.Token) []byte {
	old := p.Row.Ring
	if p.was != nil {
		old = p.was.Ring
	} else if p.If != driver.AtRev {
		old = nil
	}
	return append(slices.Clone(token[:]), ringBytes(old[:min(len(old), p.v.Ring-1)])...)
}

func ringBytes(ring []driver.Token) []byte {
	var b []byte
	for _, t := range ring {
		b = append(b, t[:]...)
	}
	return b
}

// patched returns what to bind for the columns that a patch changes.
func (p *planned) patched(c *columns, token *driver.Token) []any {
	args := c.unset(p.v)
	c.set(args, "_rev", token[:])
	if p.v.Ring > 0 {
		c.set(args, "_ring", p.ring(token))
	}
	if p.PatchMeta {
		c.setMeta(args, &p.Row, false)
	}
	var extra []driver.Pair // fields without a column, if they change
	if p.was != nil {
		extra = slices.Clone(p.was.Extra)
	}
	changed, late := false, false
	for i := range p.Edits {
		e := &p.Edits[i]
		v := p.edited(e)
		if e.Field >= 0 {
			args[e.Field] = bindable(v)
			late = late || p.v.Late[e.Field] && !v.IsNone()
			changed = changed || p.v.Late[e.Field] && p.was != nil
			continue
		}
		changed = true
		extra = slices.DeleteFunc(extra, func(q driver.Pair) bool { return q.Name == e.Name })
		if _, ok := c.kinds[e.Name]; ok {
			c.set(args, e.Name, nil)
		}
		if !v.IsNone() {
			extra = append(extra, driver.Pair{Name: e.Name, Value: v})
		}
	}
	if changed {
		extra = p.moved(args, extra)
		inside := c.undeclared(args, extra)
		late = late || p.v.anyLate || len(inside) < len(extra)
		c.set(args, "_extra", taggedExtra(inside))
	}
	if late {
		c.set(args, "_later", true)
	}
	return args
}

// moved binds fields that are declared now, and that the row may have from before, since
// what it has of them goes, and returns what there will be of other fields.
func (p *planned) moved(args []any, extra []driver.Pair) []driver.Pair {
	for i, f := range p.v.Fields {
		if !p.v.Late[i] || slices.ContainsFunc(p.Edits, func(e driver.Edit) bool { return e.Field == i }) {
			continue
		}
		switch value := p.was.Fields[i]; value.Kind() {
		case driver.None:
		case f.Kind:
			args[i] = bindable(value)
		default:
			extra = append(extra, driver.Pair{Name: f.Name, Value: value})
		}
	}
	frame.SortExtra(extra)
	return extra
}

// edited returns the value of a field after an edit. Only to add to it it must have been read.
func (p *planned) edited(e *driver.Edit) driver.Value {
	var have driver.Value
	if p.was != nil {
		have = frame.FieldOf(p.was, e)
	}
	next, _ := frame.Edited(have, e)
	return next
}
