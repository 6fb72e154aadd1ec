package pebble

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// do tests the condition of an op and puts what it changes into b.
func (c *commit) do(s *store, b *pebbledb.Batch, token driver.Token, op *driver.Op, i uint32) (*driver.Refusal, error) {
	if c.mustRead(s, op, i) {
		old, err := c.load(s, i)
		if err != nil {
			return nil, err
		}
		if !holds(op, old) {
			return c.refuse(s, op, i)
		}
	}
	key := c.key(i)
	v := c.changes[i].view
	switch op.Do {
	case driver.Check:
		return nil, nil
	case driver.Delete:
		return nil, b.Delete(key, nil)
	case driver.Put:
		c.value = v.appendRow(c.value[:0], token, c.ringAfter(op, token), &op.Row)
	case driver.Patch:
		if at, err := c.patch(s, token, op, i); err != nil || at >= 0 {
			return c.overflow(s, op, i, at, err)
		}
	case driver.Fence:
		c.fence(v, token, op)
	}
	if b.Len()+len(key)+len(c.value) > maxCommit {
		return nil, fmt.Errorf("pebble: commit: op %d takes it above %d bytes: %w", i, maxCommit, driver.ErrTooLarge)
	}
	return nil, b.Set(key, c.value, nil)
}

// mustRead says whether the row of op has to be read again. A hint tells that it
// is still as it was read: at Op.Rev, or absent. Without one the stripe may tell.
func (c *commit) mustRead(s *store, op *driver.Op, i uint32) bool {
	switch {
	case op.Do == driver.Patch, op.Do == driver.Fence, op.Do == driver.Put && op.Table.Ring > 0:
		return true
	case op.If == driver.Any:
		return false
	case op.If == driver.Present:
		return true
	}
	rev := op.Rev
	if op.If == driver.Absent {
		rev = driver.Token{}
	} else if rev.IsZero() {
		return true // no row is at no version, whatever the hint
	}
	hash, told := c.changes[i].hash, op.Row.Hint
	stripe := s.locks.of(hash)
	if told == 0 {
		told = stripe.seen.Load()
	}
	return hint(stripe.changes.Load(), hash, rev) != told
}

// load reads the row of an op into c.old.
func (c *commit) load(s *store, i uint32) (head, error) {
	c.old = c.old[:0]
	stored, closer, err := s.db.Get(c.key(i))
	if errors.Is(err, pebbledb.ErrNotFound) {
		return head{}, nil
	}
	var h head
	if err == nil {
		c.old = append(c.old, stored...)
		closer.Close()
		h, err = headOf(c.old)
	}
	return h, s.failed("commit: read a row of "+c.changes[i].view.name, err)
}

// holds says whether the condition of op is true of the row that is there.
func holds(op *driver.Op, old head) bool {
	switch op.If {
	case driver.Absent:
		return !old.known
	case driver.Present:
		return old.known && !old.dead
	case driver.AtRev:
		return old.known && old.rev == op.Rev
	}
	return true
}

// refuse returns the refusal of an op whose row is in c.old, if there is one.
func (c *commit) refuse(s *store, op *driver.Op, i uint32) (*driver.Refusal, error) {
	r := &driver.Refusal{}
	r.Row.Key.Partition, r.Row.Key.Sort = op.Row.Key.Partition, op.Row.Key.Sort
	if len(c.old) == 0 {
		return r, nil
	}
	c.reader.init(c.changes[i].view, nil)
	err := c.reader.readBytes(&r.Row, c.old)
	return r, s.failed("commit: read a row of "+op.Table.Name, err)
}

func (c *commit) overflow(s *store, op *driver.Op, i uint32, at int, err error) (*driver.Refusal, error) {
	if err != nil {
		return nil, err
	}
	r, err := c.refuse(s, op, i)
	if err != nil {
		return nil, err
	}
	r.Overflow, r.Edit = true, at
	return r, nil
}

// ringAfter returns the last tokens of the row in c.old after a change of its
// content.
func (c *commit) ringAfter(op *driver.Op, token driver.Token) []byte {
	if op.Table.Ring <= 0 {
		return nil
	}
	c.ring = append(append(c.ring[:0], token[:]...), ringOf(c.old)...)
	return c.ring[:min(len(c.ring), op.Table.Ring*tokenSize)]
}

// fence makes c.value the row in c.old at a new Rev, or a dead row.
func (c *commit) fence(v *view, token driver.Token, op *driver.Op) {
	if len(c.old) == 0 {
		c.value = v.appendRow(c.value[:0], token, nil, &driver.Row{Dead: true, Expires: op.Row.Expires})
		return
	}
	c.value = append(c.value[:0], c.old...)
	copy(c.value[1:], token[:])
}

// patch makes c.value the row in c.old after the edits of op. It returns the
// index of the edit that overflows, or -1.
func (c *commit) patch(s *store, token driver.Token, op *driver.Op, i uint32) (int, error) {
	v := c.changes[i].view
	c.reader.init(v, nil)
	c.row.Reset()
	head, body := cut(c.old) // which does not change while c.row is used
	if err := c.reader.read(&c.row, head, inPlace(body), false); err != nil {
		return -1, s.failed("commit: read a row of "+v.name, err)
	}
	if op.PatchMeta {
		c.row.Expires, c.row.Meta = op.Row.Expires, op.Row.Meta
	}
	for at, e := range op.Edits {
		if !edit(&c.row, &e) {
			return at, nil
		}
	}
	c.value = v.appendRow(c.value[:0], token, c.ringAfter(op, token), &c.row)
	return -1, nil
}

// edit changes one field of r. It returns false if an Add cannot be done.
func edit(r *driver.Row, e *driver.Edit) bool {
	i, found := 0, false
	if e.Field < 0 {
		i, found = slices.BinarySearchFunc(r.Extra, e.Name, func(p driver.Pair, name string) int {
			return strings.Compare(p.Name, name)
		})
	}
	var have driver.Value
	switch {
	case e.Field >= 0:
		have = r.Fields[e.Field]
	case found:
		have = r.Extra[i].Value
	}
	next, ok := frame.Edited(have, e)
	switch {
	case !ok:
		return false
	case e.Field >= 0:
		r.Fields[e.Field] = next
	case found:
		r.Extra[i].Value = next // absent ones are not written
	default:
		r.Extra = slices.Insert(r.Extra, i, driver.Pair{Name: e.Name, Value: next})
	}
	return true
}
