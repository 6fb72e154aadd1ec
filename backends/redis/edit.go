package redis

import "github.com/polystore/polystore/repo/driver"

// mostEdits bounds what the script edit takes at once: Lua unpacks some thousands.
const mostEdits = 1000

// editable reports whether the script edit may be asked, where all rows are keys alone: of a record that is patched as
// it was read, without sums.
func (v *view) editable(op *driver.Op) bool {
	if op.Do != driver.Patch || op.If != driver.AtRev || len(op.Row.Ring) == 0 || v.ring == 0 || len(op.Edits) > mostEdits {
		return false
	}
	for i := range op.Edits {
		if op.Edits[i].Do == driver.Add {
			return false
		}
	}
	return true
}

// editCall makes the call of the script edit.
func (c *commit) editCall() {
	n := len(c.ops)
	op, v := c.begin(editScript, n+1, 4+n+2*len(c.ops[0].Edits))
	c.addKeys(c.list)
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
			c.addKeys(c.views[i].key(&op.Row.Key))
			c.add(op.Row.Key.Sort)
			n++
		}
	}
	return n
}
