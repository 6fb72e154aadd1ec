package redis

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/internal/tagged"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A field that was declared after rows were written can lie in them under the name
// of an undeclared one. Whoever sets it removes that one, and whoever reads it looks
// at both. To add to it, which the server does, it must be read first. So it must for
// a field that this program does not declare, and another one may.

// lateTries is how often a record may change between reading and adding.
const lateTries = 64

// addsLate reports whether an op adds to a field that its row may have under either
// of two names.
func (c *commit) addsLate() bool {
	for i := range c.ops {
		if c.ops[i].Do == driver.Patch && slices.ContainsFunc(c.ops[i].Edits, c.views[i].addsLate) {
			return true
		}
	}
	return false
}

func (v *view) addsLate(e driver.Edit) bool {
	switch {
	case e.Do != driver.Add:
		return false
	case e.Field >= 0:
		return v.Late[e.Field]
	}
	return isDeclarable(e.Name)
}

// isDeclarable reports whether a program may declare a field of a name.
func isDeclarable(name string) bool { return name != "" && name[0] != '_' && name[0] != '.' }

// late is send for commits that add to such fields.
func (c *commit) late(ctx context.Context) (*driver.Refusal, error) {
	for range lateTries {
		next := commit{store: c.store, token: c.token, ops: slices.Clone(c.ops), views: c.views, list: c.list}
		seen := make([]bool, len(c.ops))
		for i := range c.ops {
			refusal, err := next.settle(ctx, i, &seen[i])
			if refusal != nil || err != nil {
				return refusal, err
			}
		}
		refusal, err := next.send(ctx)
		if refusal == nil || refusal.Overflow || !seen[refusal.Op] || c.ops[refusal.Op].If != driver.Present || refusal.Row.Rev.IsZero() || refusal.Row.Dead {
			return refusal, err
		}
	}
	return nil, fmt.Errorf("redis: commit: %s: the record changes faster than it can be read: %w", c.store.conn.addr, driver.ErrThrottled)
}

// settle makes an op that adds to a field, which its row has from before the field
// was declared, one that sets the sum if the row is still as it was read.
func (c *commit) settle(ctx context.Context, at int, seen *bool) (*driver.Refusal, error) {
	op, v := &c.ops[at], c.views[at]
	var adds []int
	words := []any{"hmget", v.key(&op.Row.Key), "_rev"}
	for i, e := range op.Edits {
		if op.Do == driver.Patch && v.addsLate(e) {
			declared, dotted := e.Name, "."+e.Name
			if e.Field >= 0 {
				declared, dotted = v.Fields[e.Field].Name, v.dotted[e.Field]
			}
			adds, words = append(adds, i), append(words, declared, dotted)
		}
	}
	if len(adds) == 0 {
		return nil, nil
	}
	r, err := c.store.conn.askKey(ctx, "commit", "hash", words...)
	if err != nil {
		return nil, err
	}
	r.List()
	text, _ := r.Text()
	if len(text) != tokenSize || op.If == driver.AtRev && text != string(op.Rev[:]) {
		return nil, nil // the script will say so
	}
	op.Edits = slices.Clone(op.Edits)
	for _, i := range adds {
		_, there := r.Text()
		before, found := r.Text()
		goes, err := c.addsDeclared(ctx, v, &op.Edits[i], there)
		if err != nil {
			return nil, err
		}
		switch {
		case there && !goes: // it is declared, but not as an int
			return c.overflow(ctx, at, i)
		case there || !goes || !found:
			continue
		}
		have, err := tagged.Parse(before)
		sum, ok := frame.Sum(have, op.Edits[i].Value.Int())
		if err != nil || !ok || have.IsNone() {
			return c.overflow(ctx, at, i)
		}
		op.Edits[i].Do, op.Edits[i].Value = driver.Set, sum
		op.If, op.Rev, *seen = driver.AtRev, driver.Token([]byte(text)), true
	}
	return nil, nil
}

// addsDeclared reports whether the server adds to the field of an edit as to a declared
// one. A row that has it as such shows that a program has declared it.
func (c *commit) addsDeclared(ctx context.Context, v *view, e *driver.Edit, there bool) (bool, error) {
	if e.Field >= 0 {
		return true, nil
	}
	if there {
		if _, err := v.other(ctx, e.Name); err != nil {
			return false, err
		}
	}
	k, _ := v.Others.Of(e.Name)
	return k.Kind == driver.Int, nil
}

// overflow refuses a commit for an edit of one of its ops.
func (c *commit) overflow(ctx context.Context, at, edit int) (*driver.Refusal, error) {
	rows := make([]driver.Row, 1)
	if err := c.store.Get(ctx, c.views[at], []driver.Key{c.ops[at].Row.Key}, nil, rows); err != nil {
		return nil, err
	}
	return &driver.Refusal{Op: at, Row: rows[0], Overflow: true, Edit: edit}, nil
}
