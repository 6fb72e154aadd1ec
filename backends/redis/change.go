package redis

import (
	"strconv"

	"github.com/polystore/polystore/internal/tagged"
	"github.com/polystore/polystore/repo/driver"
)

// oneRecord reports whether the ops are one on a record and such that write rows of
// its indexes.
func (c *commit) oneRecord() bool {
	if c.views[0].Class != driver.Records {
		return false
	}
	for i := 1; i < len(c.ops); i++ {
		op := &c.ops[i]
		gone := op.Do == driver.Delete && op.If == driver.Any
		written := op.Do == driver.Put && op.If != driver.AtRev
		if c.views[i].Class == driver.Records || !gone && !written {
			return false
		}
	}
	return true
}

// room makes room for so many keys.
func (c *commit) room(n int) { c.keys, c.forms = make([]string, 0, n), make([]string, 0, n) }

func (c *commit) addKey(key, form string) {
	c.keys, c.forms = append(c.keys, key), append(c.forms, form)
}

func (c *commit) add(args ...string) { c.args = append(c.args, args...) }

// insertable reports whether a script insert may be asked: a record and rows that
// should not be there.
func (c *commit) insertable() bool {
	op := &c.ops[0]
	if op.If != driver.Absent || op.Row.Dead || c.views[0].room == "0" || len(op.Row.Extra) > 0 || op.Row.Meta != "" {
		return false
	}
	for i := 1; i < len(c.ops); i++ {
		if c.ops[i].Do != driver.Put || c.ops[i].If == driver.Present {
			return false
		}
	}
	c.script = c.views[0].insertOf(&op.Row)
	return c.script != nil
}

// removable reports whether the script remove may be asked: a record that dies as it was
// read, and rows that go with it.
func (c *commit) removable() bool {
	op := &c.ops[0]
	if !op.Row.Dead || op.If != driver.AtRev || len(op.Row.Ring) == 0 || op.Row.Expires == 0 || c.views[0].room == "0" ||
		len(op.Row.Fields)+len(op.Row.Extra) > 0 || op.Row.Meta != "" {
		return false
	}
	for i := 1; i < len(c.ops); i++ {
		if c.ops[i].Do != driver.Delete {
			return false
		}
	}
	return true
}

// place makes room for a call of a Put and its rows, and adds the keys: the list of names,
// then those of key-only rows, and of the order as one of them.
func (c *commit) place(args int) {
	op, v, n := &c.ops[0], c.views[0], len(c.ops)
	c.room(n + 2)
	c.args = make([]string, 0, args+2*n)
	c.addKey(v.key(&op.Row.Key), "hash")
	c.addKey(c.list, "zset")
	order, _ := v.order(&op.Row.Key)
	c.addKey(order, "zset")
	for _, bare := range [...]bool{true, false} {
		for i := 1; i < n; i++ {
			if c.views[i].KeyOnly == bare {
				c.addKey(c.views[i].key(&c.ops[i].Row.Key), "zset")
			}
		}
	}
}

// addMembers adds the members of key-only rows and of the order, then two arguments for each
// other row.
func (c *commit) addMembers(other func(i int) (a, b string)) {
	_, member := c.views[0].order(&c.ops[0].Row.Key)
	c.add(member)
	for _, bare := range [...]bool{true, false} {
		for i := 1; i < len(c.ops); i++ {
			switch {
			case c.views[i].KeyOnly != bare:
			case bare:
				c.add(c.ops[i].Row.Key.Sort)
			default:
				c.add(other(i))
			}
		}
	}
}

// insertCall makes the call of a script insert, which is chosen.
func (c *commit) insertCall() {
	row := &c.ops[0].Row
	c.place(3 + len(row.Fields))
	c.add(string(c.token[:]))
	if row.Expires != 0 {
		c.add(strconv.FormatInt(row.Expires, 10))
	}
	for _, value := range row.Fields {
		if !value.IsNone() {
			c.add(scalar(value))
		}
	}
	c.addMembers(func(i int) (string, string) { return c.ops[i].Row.Key.Sort, c.views[i].payload(&c.ops[i].Row) })
}

// removeCall makes the call of the script remove.
func (c *commit) removeCall() {
	c.script = removeScript
	op := &c.ops[0]
	c.place(5)
	c.add(c.views[0].ringWith(c.token, op.Row.Ring), string(op.Rev[:]), strconv.FormatInt(op.Row.Expires, 10), c.views[0].ttl)
	c.addMembers(func(i int) (string, string) {
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
	op, v := &c.ops[0], c.views[0]
	c.script = putScript
	n := len(c.ops)
	c.room(n + 2)
	c.args = make([]string, 0, 9+3*n+2*len(op.Row.Fields)+2*len(op.Row.Extra))
	order, member := v.order(&op.Row.Key)
	c.addKey(v.key(&op.Row.Key), "hash")
	c.addKey(order, "zset")
	c.add(string(c.token[:]), condition(op), member, v.room, v.ttl)
	c.addRows()
	c.args = v.appendFields(c.args, &op.Row)
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
	c.order = append(make([]int, 1, 1+len(more)), more...)
	for _, i := range gone {
		c.addKey(c.views[i].key(&c.ops[i].Row.Key), "zset")
		c.add(c.ops[i].Row.Key.Sort)
	}
	for _, i := range more {
		c.addKey(c.views[i].key(&c.ops[i].Row.Key), "zset")
		c.add(c.views[i].condition(&c.ops[i]), c.ops[i].Row.Key.Sort, c.views[i].payload(&c.ops[i].Row))
	}
	c.addKey(c.list, "zset")
}

// condition returns what a script is told of the condition of an op on a row.
func (v *view) condition(op *driver.Op) string {
	if v.KeyOnly {
		return "bare"
	}
	return condition(op)
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
	op, v := &c.ops[0], c.views[0]
	c.script = patchScript
	n := len(c.ops)
	c.room(n + 1)
	c.args = make([]string, 0, 8+3*n+2*len(op.Edits))
	c.addKey(v.key(&op.Row.Key), "hash")
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
	for i := range op.Edits {
		e := &op.Edits[i]
		if e.Do == driver.Add {
			continue
		}
		name, text, other := v.edited(e)
		if e.Do == driver.Unset || e.Value.IsNone() {
			gone = append(gone, name)
		} else {
			sets = append(sets, name, text)
		}
		if other != "" {
			gone = append(gone, other)
		}
	}
	if op.PatchMeta {
		sets, gone = metaEdits(&op.Row, sets, gone)
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
	if e.Name != "" && e.Name[0] != '_' && e.Name[0] != '.' { // such fields nobody declares
		other = e.Name
	}
	return name, text, other
}

func metaEdits(row *driver.Row, sets, gone []string) ([]string, []string) {
	if row.Expires != 0 {
		sets = append(sets, "_expires", strconv.FormatInt(row.Expires, 10))
	} else {
		gone = append(gone, "_expires")
	}
	if row.Meta != "" {
		sets = append(sets, "_note", row.Meta)
	} else {
		gone = append(gone, "_note")
	}
	return sets, gone
}

// commitCall makes the call of the script commit.
func (c *commit) commitCall() {
	c.script = commitScript
	c.add(string(c.token[:]))
	for i := range c.ops {
		op, v := &c.ops[i], c.views[i]
		kind, shape, sort := op.Do.String(), "plain", op.Row.Key.Sort
		c.addKey(v.key(&op.Row.Key), v.form())
		switch {
		case v.KeyOnly:
			kind, shape = "bare "+kind, "bare"
		case v.Class != driver.Records:
			kind, shape = "member "+kind, "member"
		case op.Do == driver.Put || op.Do == driver.Delete:
			shape = "ordered"
			var order string
			order, sort = v.order(&op.Row.Key)
			c.addKey(order, "zset")
		}
		args := v.opArgs(op)
		c.add(kind, condition(op), shape, sort, v.room, v.ttl, itoa(len(args)))
		c.add(args...)
	}
	c.addKey(c.list, "zset")
}

// opArgs returns what follows the head of an op of the script commit.
func (v *view) opArgs(op *driver.Op) []string {
	switch {
	case v.KeyOnly:
		return nil
	case op.Do == driver.Put && v.Class != driver.Records:
		return []string{v.payload(&op.Row)}
	case op.Do == driver.Put:
		return v.appendFields(nil, &op.Row)
	case op.Do == driver.Patch:
		return v.appendPatch(nil, op)
	case op.Do == driver.Fence:
		return []string{strconv.FormatInt(op.Row.Expires, 10)}
	}
	return nil
}
