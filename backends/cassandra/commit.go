package cassandra

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A commit is one under way.
type commit struct {
	store *store
	token driver.Token
	ops   []driver.Op
	plan  []planned
}

// Commit does all ops or none: one by one conditional statement, several by a batch that
// has a condition. Where another program was faster it is begun again.
func (s *store) Commit(ctx context.Context, token driver.Token, ops []driver.Op, views []*view) (*driver.Refusal, error) {
	if err := who.Fitting(ops); err != nil {
		return nil, err
	}
	c := commit{store: s, token: token, ops: ops, plan: make([]planned, len(ops))}
	for i := range ops {
		c.plan[i] = planned{Op: &ops[i], v: views[i]}
	}
	if len(ops) > 1 && views[0].Unconditional {
		return nil, who.Invalid("a commit of %d ops on table %s, which is plain", len(ops), views[0].Name)
	}
	if c.plan[0].v.Unconditional {
		return nil, c.write(ctx)
	}
	hold, err := s.locks.lock(ctx, c.plan[0].v.physical, ops[0].Row.Key.Partition)
	if err != nil {
		return nil, err
	}
	defer func() { <-hold }()
	return who.Contend(ctx, s.conn.addr, func() (*driver.Refusal, error) { return c.attempt(ctx) })
}

// attempt reads what the statements of a commit must name, and sends them once. With
// frame.ErrBeaten nothing was done.
func (c *commit) attempt(ctx context.Context) (*driver.Refusal, error) {
	alone := len(c.plan) == 1
	read := make([]bool, len(c.plan))
	conditional := false
	for i := range c.plan {
		p := &c.plan[i]
		p.was = nil
		read[i] = p.needsRead(alone)
		conditional = conditional || read[i] || p.If != driver.Any
	}
	if !alone && !conditional { // a batch is a transaction only if it has a condition
		read[0] = true
	}
	if slices.Contains(read, true) {
		if err := c.read(ctx, func(i int) bool { return read[i] }); err != nil {
			return nil, err
		}
		if !c.possible() {
			return c.refusal(ctx, read)
		}
	}
	if alone && (c.plan[0].Do == driver.Check || c.plan[0].Do == driver.Delete && c.plan[0].If == driver.Absent) {
		return nil, nil // it was read, and is as it is to be
	}
	applied, row, err := c.send(ctx)
	switch {
	case err != nil:
		return nil, err
	case applied:
		return nil, nil
	case row != nil:
		return c.refused([]driver.Row{*row})
	}
	return c.refusal(ctx, nil)
}

// read reads the rows of some ops, so that nothing can come between those that were
// decided before and what is decided next.
func (c *commit) read(ctx context.Context, wanted func(i int) bool) error {
	rows := make([]driver.Row, len(c.plan))
	return atOnce(ctx, len(c.plan), func(ctx context.Context, i int) error {
		p := &c.plan[i]
		if !wanted(i) {
			return nil
		}
		if err := c.store.get(ctx, p.v, c.store.conn.serial, &p.Row.Key, nil, &rows[i]); err != nil {
			return err
		}
		p.was = &rows[i]
		return nil
	})
}

// possible reports whether what was read allows to send the statements.
func (c *commit) possible() bool {
	for i := range c.plan {
		p := &c.plan[i]
		if p.was == nil {
			continue
		}
		if i == 0 && slices.Contains(p.was.Ring, c.token) || !frame.Holds(p.Op, p.was) || frame.Overflows(p.Op, p.was) >= 0 {
			return false
		}
	}
	return true
}

// send sends the statements, and reports whether they were done. Row is the one that
// refused a lone insert.
func (c *commit) send(ctx context.Context) (applied bool, row *driver.Row, err error) {
	batch := c.store.conn.batch(gocql.LoggedBatch).SerialConsistency(c.store.conn.serial)
	size := 0
	for i := range c.plan {
		p := &c.plan[i]
		if p.Do == driver.Check && p.If == driver.Any && p.was == nil {
			continue
		}
		text, args, err := p.statement(&c.token, len(c.plan) == 1)
		if err != nil {
			return false, nil, err
		}
		size += sizeOf(args)
		batch.Query(text, args...)
	}
	if err := c.fits(size); err != nil {
		return false, nil, err
	}
	var q sendable = batch
	if len(batch.Entries) == 1 {
		e := &batch.Entries[0]
		q = c.store.conn.query(c.store.conn.level, e.Stmt, e.Args...).NoSkipMetadata()
	}
	answer, err := run(ctx, q)
	if err != nil {
		return false, nil, c.store.conn.unfinished(ctx, err)
	}
	return c.answered(ctx, answer)
}

// fits refuses a commit of more bytes than the server takes.
func (c *commit) fits(size int) error {
	if most := c.store.facts.MaxCommit; most > 0 && size > most {
		return who.TooLarge("commit: it has about %d bytes, and the server takes %d", size, most)
	}
	return nil
}

// answered reads the answer to a conditional statement.
func (c *commit) answered(ctx context.Context, answer *gocql.Iter) (applied bool, row *driver.Row, err error) {
	p := &c.plan[0]
	if cond, _ := p.condition(); len(c.plan) > 1 || cond != driver.Absent || p.v.Class != driver.Records || p.isCheck(cond) {
		if applied = scanApplied(answer); !applied {
			err = answer.Close()
		}
		deleted := len(c.plan) == 1 && p.Do == driver.Delete && p.If == driver.Any
		return applied || deleted && err == nil, nil, c.store.conn.unfinished(ctx, err)
	}
	r := c.store.newReader(p.v, nil, answer, p.Row.Key.Partition)
	at := slices.Index(r.names, "[applied]")
	if at < 0 || !r.next() {
		return false, nil, c.store.conn.unfinished(ctx, errors.Join(errAnswer, answer.Close()))
	}
	if cell := r.cells[at].data; len(cell) == 1 && cell[0] != 0 {
		return true, nil, nil
	}
	row = &driver.Row{Key: p.Row.Key}
	return false, row, r.row(ctx, row)
}

var errAnswer = errors.New("an answer that does not say whether it was done")

// sizeOf returns about what a statement with args takes in a message.
func sizeOf(args []any) int {
	n := 64
	for _, a := range args {
		switch a := a.(type) {
		case string:
			n += len(a)
		case []byte:
			n += len(a)
		}
		n += 12
	}
	return n
}

// refusal reads the rows that were not read already, and says which op they refuse.
func (c *commit) refusal(ctx context.Context, read []bool) (*driver.Refusal, error) {
	if err := c.read(ctx, func(i int) bool { return read == nil || !read[i] }); err != nil {
		return nil, err
	}
	rows := make([]driver.Row, len(c.plan))
	for i := range c.plan {
		rows[i] = *c.plan[i].was
	}
	return c.refused(rows)
}

// refused says which op the rows refuse, or that the commit was done before. If they
// refuse none by now, the commit is to be begun again, knowing which of them are dead.
func (c *commit) refused(rows []driver.Row) (*driver.Refusal, error) {
	if slices.Contains(rows[0].Ring, c.token) {
		return nil, nil
	}
	if refusal := frame.Refuse(c.ops, rows); refusal != nil {
		return refusal, nil
	}
	for i := range c.plan {
		c.plan[i].died = rows[i].Dead
	}
	return nil, frame.ErrBeaten
}
