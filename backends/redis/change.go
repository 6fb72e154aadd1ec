package redis

import (
	"strconv"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/internal/tagged"
	"github.com/polystore/polystore/repo/driver"
)

// A rest is what all ops of a commit after the first are.
type rest struct {
	rows bool // of indexes, put or deleted, without a Rev as a condition
	bare bool // keys alone
	gone bool // deleted
	come bool // put, and need not be there
}

// rest looks at the ops after the first.
func (c *commit) rest() rest {
	r := rest{true, true, true, true}
	for i := 1; i < len(c.ops); i++ {
		op, v := &c.ops[i], c.views[i]
		gone := op.Do == driver.Delete && op.If == driver.Any
		come := op.Do == driver.Put && op.If != driver.AtRev
		r.rows = r.rows && v.Class != driver.Records && (gone || come)
		r.bare = r.bare && v.KeyOnly
		r.gone = r.gone && gone
		r.come = r.come && come && op.If != driver.Present
	}
	return r
}

// call makes the call of the script that does the ops, the narrowest of those that can.
func (c *commit) call() {
	op, v, rest := &c.ops[0], c.views[0], c.rest()
	switch {
	case v.Class != driver.Records || !rest.rows:
		c.commitCall()
	case rest.bare && v.editable(op):
		c.editCall()
	case op.Do == driver.Patch:
		c.patchCall()
	case op.Do != driver.Put:
		c.commitCall()
	case rest.come && v.insertable(op):
		c.insertCall()
	case rest.gone && v.removable(op):
		c.removeCall()
	default:
		c.putCall()
	}
}

// insertable reports whether a script insert may be asked, where rows come: for a record that should not be there.
func (v *view) insertable(op *driver.Op) bool {
	return op.If == driver.Absent && !op.Row.Dead && v.ring > 0 && len(op.Row.Extra) == 0 && op.Row.Meta == ""
}

// removable reports whether the script remove may be asked, where rows go: for a record that dies as it was read.
func (v *view) removable(op *driver.Op) bool {
	return op.Row.Dead && op.If == driver.AtRev && len(op.Row.Ring) > 0 && op.Row.Expires != 0 && v.ring > 0 &&
		len(op.Row.Fields)+len(op.Row.Extra) == 0 && op.Row.Meta == ""
}

// begin begins the call of a script for the first op, by the key of its record, with room for so many keys and args.
func (c *commit) begin(sc *wire.Script, keys, args int) (*driver.Op, *view) {
	op, v := &c.ops[0], c.views[0]
	c.script, c.keys, c.args = sc, make([]string, 0, keys), make([]string, 0, args)
	c.addKeys(v.key(&op.Row.Key))
	return op, v
}

func (c *commit) addKeys(keys ...string) { c.keys = append(c.keys, keys...) }

func (c *commit) add(args ...string) { c.args = append(c.args, args...) }

// addPlaces adds the keys of the list of names, of the order and of rows, those of key-only rows first, and the members
// of the order and of key-only rows. There are two arguments for each other row.
func (c *commit) addPlaces(other func(i int) (a, b string)) {
	order, member := c.views[0].order(&c.ops[0].Row.Key)
	c.addKeys(c.list, order)
	c.add(member)
	for _, bare := range [...]bool{true, false} {
		for i := 1; i < len(c.ops); i++ {
			if c.views[i].KeyOnly != bare {
				continue
			}
			c.addKeys(c.views[i].key(&c.ops[i].Row.Key))
			if bare {
				c.add(c.ops[i].Row.Key.Sort)
			} else {
				c.add(other(i))
			}
		}
	}
}

// insertCall makes the call of the script insert for the fields of the record, or of put where there is none.
func (c *commit) insertCall() {
	row, n := &c.ops[0].Row, len(c.ops)
	sc := c.views[0].insertOf(row)
	if sc == nil {
		c.putCall()
		return
	}
	c.begin(sc, n+2, 3+len(row.Fields)+2*n)
	c.add(string(c.token[:]))
	if row.Expires != 0 {
		c.add(strconv.FormatInt(row.Expires, 10))
	}
	for _, value := range row.Fields {
		if !value.IsNone() {
			c.add(scalar(value))
		}
	}
	c.addPlaces(func(i int) (string, string) { return c.ops[i].Row.Key.Sort, c.views[i].payload(&c.ops[i].Row) })
}

// removeCall makes the call of the script remove.
func (c *commit) removeCall() {
	n := len(c.ops)
	op, v := c.begin(removeScript, n+2, 5+2*n)
	c.add(v.ringWith(c.token, op.Row.Ring), string(op.Rev[:]), strconv.FormatInt(op.Row.Expires, 10), v.ttl)
	c.addPlaces(func(i int) (string, string) {
		sort := c.ops[i].Row.Key.Sort
		return "[" + sort, "(" + sort + "\xff"
	})
}

// ringWith returns the text of a ring with one token more.
func (v *view) ringWith(token driver.Token, ring []driver.Token) string {
	text := append(make([]byte, 0, tokenSize*(len(ring)+1)), token[:]...)
	for i := range ring {
		text = append(text, ring[i][:]...)
	}
	return string(text[:min(len(text), v.ring)])
}

// putCall makes the call of the script put.
func (c *commit) putCall() {
	n, row := len(c.ops), &c.ops[0].Row
	op, v := c.begin(putScript, n+2, 9+3*n+2*len(row.Fields)+2*len(row.Extra))
	order, member := v.order(&row.Key)
	c.addKeys(order)
	c.add(string(c.token[:]), condition(op), member, v.room, v.ttl)
	c.addRows()
	c.args = v.appendFields(c.args, row)
}

// addRows adds what a script is told of the rows that come after the first op.
func (c *commit) addRows() {
	var gone, more []int
	for i := 1; i < len(c.ops); i++ {
		if c.ops[i].Do == driver.Delete {
			gone = append(gone, i)
		} else {
			more = append(more, i)
		}
	}
	c.add(itoa(len(gone)), itoa(len(more)))
	c.numbers = append(make([]int, 1, 1+len(more)), more...)
	for _, i := range gone {
		c.addKeys(c.views[i].key(&c.ops[i].Row.Key))
		c.add(c.ops[i].Row.Key.Sort)
	}
	for _, i := range more {
		want := "bare"
		if !c.views[i].KeyOnly {
			want = condition(&c.ops[i])
		}
		c.addKeys(c.views[i].key(&c.ops[i].Row.Key))
		c.add(want, c.ops[i].Row.Key.Sort, c.views[i].payload(&c.ops[i].Row))
	}
	c.addKeys(c.list)
}

// condition returns what a script is told of an op's condition.
func condition(op *driver.Op) string {
	if op.If == driver.AtRev {
		return string(op.Rev[:])
	}
	return op.If.String()
}

// appendFields appends names and values of the hash of a record, but _rev and
// _ring; _dead comes first, where the scripts look for it.
func (v *view) appendFields(args []string, row *driver.Row) []string {
	if row.Dead {
		args = append(args, "_dead", "1")
	}
	if row.Expires != 0 {
		args = append(args, "_expires", strconv.FormatInt(row.Expires, 10))
	}
	if row.Meta != "" {
		args = append(args, "_note", row.Meta)
	}
	for i, value := range row.Fields {
		if !value.IsNone() {
			args = append(args, v.Fields[i].Name, scalar(value))
		}
	}
	for _, p := range row.Extra {
		if !p.Value.IsNone() {
			name, text := v.undeclared(p.Name, p.Value)
			args = append(args, name, text)
		}
	}
	return args
}

// undeclared returns name and text of a field that v does not declare. If another
// program does, with the value's kind, they are those of a declared one.
func (v *view) undeclared(name string, value driver.Value) (field, text string) {
	if k, ok := v.Others.Of(name); ok && k.Kind == value.Kind() {
		return name, scalar(value)
	}
	return "." + name, string(tagged.Append(nil, value))
}

// payload returns what follows the token in the member of a row of an index: its
// fields as tagged JSON, or nothing if there are none.
func (v *view) payload(row *driver.Row) string {
	var dst []byte
	put := func(name string, value driver.Value) {
		if value.IsNone() {
			return
		}
		if dst == nil {
			dst = append(make([]byte, 0, 128), '{')
		} else {
			dst = append(dst, ',')
		}
		dst = tagged.Append(tagged.AppendKey(dst, name), value)
	}
	if row.Expires != 0 {
		put("_expires", driver.IntValue(row.Expires))
	}
	if row.Meta != "" {
		put("_note", driver.StringValue(row.Meta))
	}
	for i, value := range row.Fields {
		put(v.Fields[i].Name, value)
	}
	for _, p := range row.Extra {
		put(p.Name, p.Value)
	}
	if dst == nil {
		return ""
	}
	return string(append(dst, '}'))
}

// patchCall makes the call of the script patch.
func (c *commit) patchCall() {
	n := len(c.ops)
	op, v := c.begin(patchScript, n+1, 8+3*n+2*len(c.ops[0].Edits))
	c.add(string(c.token[:]), condition(op), v.room)
	c.addRows()
	c.args = v.appendPatch(c.args, op)
}

// appendPatch appends the numbers of sums and of fields that are set, these, and
// the names of fields that go.
func (v *view) appendPatch(args []string, op *driver.Op) []string {
	var sums []string
	for i := range op.Edits {
		if e := &op.Edits[i]; e.Do == driver.Add {
			name, text, _ := v.edited(e)
			sums = append(sums, name, text)
		}
	}
	sets, gone := v.changes(op)
	args = append(args, itoa(len(sums)/2), itoa(len(sets)/2))
	args = append(append(args, sums...), sets...)
	return append(args, gone...)
}

// changes returns names and values of the fields that a patch sets, and the names of
// those that go. Sums are not among them.
func (v *view) changes(op *driver.Op) (sets, gone []string) {
	put := func(name, text string, there bool) {
		if there {
			sets = append(sets, name, text)
		} else {
			gone = append(gone, name)
		}
	}
	for i := range op.Edits {
		e := &op.Edits[i]
		if e.Do == driver.Add {
			continue
		}
		name, text, other := v.edited(e)
		put(name, text, e.Do != driver.Unset && !e.Value.IsNone())
		if other != "" {
			gone = append(gone, other)
		}
	}
	if op.PatchMeta {
		put("_expires", strconv.FormatInt(op.Row.Expires, 10), op.Row.Expires != 0)
		put("_note", op.Row.Meta, op.Row.Meta != "")
	}
	return sets, gone
}

// edited returns name and text of the field of an edit, and the other name under
// which the row may have it, as one that was declared or as one that was not.
func (v *view) edited(e *driver.Edit) (name, text, other string) {
	if e.Field >= 0 {
		if v.Late[e.Field] {
			other = v.dotted[e.Field]
		}
		return v.Fields[e.Field].Name, scalar(e.Value), other
	}
	name, text = v.undeclared(e.Name, e.Value)
	if name == e.Name {
		return name, text, "." + name
	}
	if isDeclarable(e.Name) {
		other = e.Name
	}
	return name, text, other
}

// commitCall makes the call of the script commit.
func (c *commit) commitCall() {
	c.script = commitScript
	c.add(string(c.token[:]))
	for i := range c.ops {
		op, v := &c.ops[i], c.views[i]
		kind, shape, sort := op.Do.String(), "plain", op.Row.Key.Sort
		var args []string
		c.addKeys(v.key(&op.Row.Key))
		switch {
		case v.KeyOnly:
			kind, shape = "bare "+kind, "bare"
		case v.Class != driver.Records:
			kind, shape = "member "+kind, "member"
			if op.Do == driver.Put {
				args = []string{v.payload(&op.Row)}
			}
		case op.Do == driver.Put || op.Do == driver.Delete:
			shape = "ordered"
			var order string
			order, sort = v.order(&op.Row.Key)
			c.addKeys(order)
			if op.Do == driver.Put {
				args = v.appendFields(nil, &op.Row)
			}
		case op.Do == driver.Patch:
			args = v.appendPatch(nil, op)
		case op.Do == driver.Fence:
			args = []string{strconv.FormatInt(op.Row.Expires, 10)}
		}
		c.add(kind, condition(op), shape, sort, v.room, v.ttl, itoa(len(args)))
		c.add(args...)
	}
	c.addKeys(c.list)
}
