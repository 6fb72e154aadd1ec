package redis

import (
	"github.com/polystore/polystore/repo/driver"
)

// mostEdits bounds what the script edit takes at once: Lua unpacks some thousands.
const mostEdits = 1000

// editable reports whether the script edit may be asked: a record that is patched as it
// was read, without sums, and rows that are keys alone.
func (c *commit) editable() bool {
	op := &c.ops[0]
	if op.Do != driver.Patch || op.If != driver.AtRev || len(op.Row.Ring) == 0 || c.views[0].room == "0" || len(op.Edits) > mostEdits {
		return false
	}
	for i := range op.Edits {
		if op.Edits[i].Do == driver.Add {
			return false
		}
	}
	for i := 1; i < len(c.ops); i++ {
		if !c.views[i].KeyOnly {
			return false
		}
	}
	return true
}

// editCall makes the call of the script edit.
func (c *commit) editCall() {
	op, v, n := &c.ops[0], c.views[0], len(c.ops)
	c.script = editScript
	c.room(n + 1)
	c.args = make([]string, 0, 4+n+2*len(op.Edits))
	c.addKey(v.key(&op.Row.Key), "hash")
	c.addKey(c.list, "zset")
	c.add(v.ringWith(c.token, op.Row.Ring), string(op.Rev[:]), "", "")
	gone := c.addBare(true)
	c.addBare(false)
	sets, names := v.changes(op)
	c.args[2], c.args[3] = itoa(gone), itoa(len(names))
	c.args = append(append(c.args, names...), sets...)
}

// addBare adds the keys and members of the rows that go, or of those that come, and
// returns how many there are.
func (c *commit) addBare(gone bool) (n int) {
	for i := 1; i < len(c.ops); i++ {
		if op := &c.ops[i]; (op.Do == driver.Delete) == gone {
			c.addKey(c.views[i].key(&op.Row.Key), "zset")
			c.add(op.Row.Key.Sort)
			n++
		}
	}
	return n
}
