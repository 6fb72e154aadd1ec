package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A commit is one under way.
type commit struct {
	store *store
	token driver.Token
	ops   []driver.Op
	views []*view // of the tables of the ops
	freed bool    // the rows first give up what they have in unique indexes

	upserts bool // rows of new records can be there
}

// Commit does all ops or none: one by one statement, several by a transaction. Where
// the server undid it because of another one, of which nothing is left, it is begun
// again.
func (s *store) Commit(ctx context.Context, token driver.Token, ops []driver.Op, views []*view) (*driver.Refusal, error) {
	c := commit{store: s, token: token, ops: ops, views: views}
	if err := c.storable(); err != nil {
		return nil, err
	}
	return who.Contend(ctx, s.conn.addr, func() (*driver.Refusal, error) { return c.attempt(ctx) })
}

// attempt sends a commit once. With frame.ErrBeaten nothing was done.
func (c *commit) attempt(ctx context.Context) (*driver.Refusal, error) {
	now := *c
	for i := range c.ops {
		if c.views[i].needsRow(&c.ops[i]) {
			if err := now.settle(ctx, i); err != nil {
				return nil, err
			}
		}
	}
	send := now.together
	if len(c.ops) == 1 {
		send = now.alone
	}
	done, err := send(ctx)
	if errors.Is(err, errThere) {
		c.upserts = true
		return nil, frame.ErrBeaten
	}
	if t, ok := errors.AsType[*taken](err); ok {
		refusal, err := c.refuseTaken(ctx, t)
		if err == nil && c.passesOn(t, &refusal.Row) {
			c.freed = true
			return nil, frame.ErrBeaten
		}
		return refusal, err
	}
	if done || err != nil {
		return nil, err
	}
	return c.refusal(ctx)
}

// storable says which value of an op has another kind than its field, or cannot be
// written.
func (c *commit) storable() error {
	if err := who.Fitting(c.ops); err != nil {
		return err
	}
	for i := range c.ops {
		if err := c.views[i].storable(&c.ops[i]); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) storable(op *driver.Op) error {
	switch op.Do {
	case driver.Put:
		for i, value := range op.Row.Fields {
			if err := v.writable(v.Fields[i].Name, value, 0); err != nil {
				return err
			}
		}
		for i := range op.Row.Extra {
			if err := v.writable(op.Row.Extra[i].Name, op.Row.Extra[i].Value, 0); err != nil {
				return err
			}
		}
	case driver.Patch:
		for i := range op.Edits {
			e := &op.Edits[i]
			name := e.Name
			if e.Field >= 0 {
				name = v.Fields[e.Field].Name
			}
			if err := v.writable(name, e.Value, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// deepest is how deeply values may be nested: MongoDB stores documents of 180 levels.
const deepest = 150

// writable says which value no document can hold.
func (v *view) writable(field string, value driver.Value, depth int) error {
	kind := value.Kind()
	if kind != driver.List && kind != driver.Map {
		return nil
	}
	if depth == deepest {
		return who.Invalid("the field %s of table %s is nested over %d deep", field, v.Name, deepest)
	}
	for i, e := range value.List() {
		if kind == driver.Map && i%2 == 0 {
			if slices.Contains([]byte(e.Str()), 0) {
				return who.Invalid("the field %s of table %s has a map with a NUL in a key", field, v.Name)
			}
			continue
		}
		if err := v.writable(field, e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// alone does one op by one statement, and reports whether its condition held.
func (c *commit) alone(ctx context.Context) (done bool, err error) {
	op, v := &c.ops[0], c.views[0]
	if op.If == driver.Any && op.Do == driver.Check {
		return true, nil
	}
	if op.Do == driver.Check || op.If == driver.Absent && op.Do == driver.Delete {
		return false, nil // what is there says it all
	}
	st := v.statement(verbOf(op), &c.token)
	st.add(op)
	if err := st.end(); err != nil {
		return false, err
	}
	n, err := c.store.conn.write(ctx, durable(&st.w))
	if err == nil || halfDone(err) != nil && n == 0 && !accepts(op, 0) {
		return accepts(op, n), nil
	}
	if t := takenBy(err); t != nil {
		return false, t
	}
	code := codeOf(err)
	switch {
	case refuses(op, code):
		return false, nil
	case code == codeWriteConflict:
		return false, beaten(err)
	}
	return false, c.store.conn.unfinished(ctx, err)
}

// accepts reports whether a statement that met n rows has done its op.
func accepts(op *driver.Op, n int) bool {
	return n > 0 || op.If == driver.Any && op.Do != driver.Put
}

// refuses reports whether an answer means that the condition of an op does not hold, that
// a sum of it cannot be, or that another program wrote a field such that it cannot be changed.
func refuses(op *driver.Op, code int) bool {
	switch code {
	case codeDuplicateKey:
		return true
	case codeBadValue, codeTypeMismatch, codeNoPath:
		return op.Do == driver.Patch
	}
	return code == codeNoArray && op.Do == driver.Put
}

// refusal reads what is there and says which op it refuses, or that the commit was
// done before. If it refuses none by now, the commit is to be begun again.
func (c *commit) refusal(ctx context.Context) (*driver.Refusal, error) {
	rows, err := c.rows(ctx)
	if err != nil {
		return nil, err
	}
	if slices.Contains(rows[0].Ring, c.token) {
		return nil, nil
	}
	if refusal := frame.Refuse(c.ops, rows); refusal != nil {
		return refusal, nil
	}
	if op := &c.ops[0]; len(c.ops) == 1 && (op.Do == driver.Check || op.Do == driver.Delete && op.If == driver.Absent) {
		return nil, nil // it was to be looked at only
	}
	if err := c.dropNulls(ctx); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: its conditions did not hold and do now", frame.ErrBeaten)
}

// rows reads the rows of all ops, by one command a table.
func (c *commit) rows(ctx context.Context) ([]driver.Row, error) {
	rows := make([]driver.Row, len(c.ops))
	for i, v := range c.views {
		if slices.Contains(c.views[:i], v) {
			continue // it was read with the first row of its table
		}
		var keys []driver.Key
		var places []int
		for j := range c.ops {
			if c.views[j] == v {
				keys, places = append(keys, c.ops[j].Row.Key), append(places, j)
			}
		}
		found := make([]driver.Row, len(keys))
		if err := c.store.Get(ctx, v, keys, nil, found); err != nil {
			return nil, err
		}
		for n, j := range places {
			rows[j] = found[n]
		}
	}
	return rows, nil
}
