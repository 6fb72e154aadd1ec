package cassandra

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// A call is a commit under way.
type call struct {
	token driver.Token
	plan  []planned
}

// Commit does all ops or none: one by one conditional statement, several by a batch that
// has a condition. Where another program was faster it is begun again.
func (s *Store) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if len(ops) == 0 {
		return nil, nil
	}
	c := call{token: token, plan: make([]planned, len(ops))}
	if err := s.check(&c, ops); err != nil {
		return nil, err
	}
	if c.plan[0].v.plain {
		return nil, s.write(ctx, &c)
	}
	hold, err := s.locks.lock(ctx, c.plan[0].v.physical, ops[0].Row.Key.Partition)
	if err != nil {
		return nil, err
	}
	defer func() { <-hold }()
	return who.Contend(ctx, s.addr, func() (*driver.Refusal, error) { return s.attempt(ctx, &c) })
}

// check says what makes a commit one that no store could do, or not this one, and
// finds the views of its tables.
func (s *Store) check(c *call, ops []driver.Op) error {
	if c.token.IsZero() {
		return invalid("commit without a token")
	}
	for i := range ops {
		op := &ops[i]
		v, err := s.view(op.Table)
		if err != nil {
			return err
		}
		if err := op.Validate(); err != nil {
			return who.Wrap(err)
		}
		if err := who.Fitting(v.fields, op); err != nil {
			return err
		}
		c.plan[i] = planned{Op: op, v: v}
	}
	if err := c.inOnePartition(); err != nil {
		return err
	}
	return who.Twice(ops)
}

// inOnePartition says which op lies in another partition than the first.
func (c *call) inOnePartition() error {
	first := &c.plan[0]
	if len(c.plan) > 1 && first.v.plain {
		return invalid("a commit of %d ops on table %s, which is plain", len(c.plan), first.v.name)
	}
	for i := range c.plan {
		if p := &c.plan[i]; p.v.physical != first.v.physical || p.Row.Key.Partition != first.Row.Key.Partition {
			return unsupported("ops 0 and %d of a commit, on %s and %s, lie in different partitions", i, first.v.name, p.v.name)
		}
	}
	return nil
}

// attempt reads what the statements of a commit must name, and sends them once. With
// backend.ErrBeaten nothing was done.
func (s *Store) attempt(ctx context.Context, c *call) (*driver.Refusal, error) {
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
		if err := s.readPlan(ctx, c, read); err != nil {
			return nil, err
		}
		if !c.possible() {
			return s.refusal(ctx, c, read)
		}
	}
	if alone && (c.plan[0].Do == driver.Check || c.plan[0].Do == driver.Delete && c.plan[0].If == driver.Absent) {
		return nil, nil // it was read, and is as it is to be
	}
	applied, row, err := s.send(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case applied:
		return nil, nil
	case row != nil:
		return c.refused([]driver.Row{*row})
	}
	return s.refusal(ctx, c, nil)
}

// readPlan reads the rows of some ops, so that nothing can come between those that were
// decided before and what is decided next.
func (s *Store) readPlan(ctx context.Context, c *call, wanted []bool) error {
	rows := make([]driver.Row, len(c.plan))
	return atOnce(ctx, len(c.plan), func(ctx context.Context, i int) error {
		p := &c.plan[i]
		if !wanted[i] {
			return nil
		}
		if err := s.get(ctx, p.v, s.serial, &p.Row.Key, nil, &rows[i]); err != nil {
			return err
		}
		p.was = &rows[i]
		return nil
	})
}

// possible reports whether what was read allows to send the statements.
func (c *call) possible() bool {
	for i := range c.plan {
		p := &c.plan[i]
		if p.was == nil {
			continue
		}
		if i == 0 && slices.Contains(p.was.Ring, c.token) || !backend.Holds(p.Op, p.was) || backend.Overflows(p.Op, p.was) >= 0 {
			return false
		}
	}
	return true
}

// send sends the statements, and reports whether they were done. Row is the one that
// refused a lone insert.
func (s *Store) send(ctx context.Context, c *call) (applied bool, row *driver.Row, err error) {
	batch := s.session.Batch(gocql.LoggedBatch).SetKeyspace(s.keyspace).Consistency(s.level).SerialConsistency(s.serial).
		RetryPolicy(nil).SpeculativeExecutionPolicy(once).DefaultTimestamp(false)
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
	if err := s.small(size); err != nil {
		return false, nil, err
	}
	var answer *gocql.Iter
	if len(batch.Entries) == 1 {
		e := &batch.Entries[0]
		q := s.query(s.level, e.Stmt, e.Args...).NoSkipMetadata()
		answer, err = run(ctx, func() *gocql.Iter { return q.IterContext(ctx) })
	} else {
		answer, err = run(ctx, func() *gocql.Iter { return batch.IterContext(ctx) })
	}
	if err != nil {
		return false, nil, s.unfinished(ctx, err)
	}
	return s.answered(ctx, c, answer)
}

func (s *Store) small(size int) error {
	if s.most > 0 && size > s.most {
		return tooLarge("commit: it has about %d bytes, and the server takes %d", size, s.most)
	}
	return nil
}

// answered reads the answer to a conditional statement.
func (s *Store) answered(ctx context.Context, c *call, answer *gocql.Iter) (applied bool, row *driver.Row, err error) {
	p := &c.plan[0]
	if cond, _ := p.condition(); len(c.plan) > 1 || cond != driver.Absent || p.v.class != driver.Records || p.isCheck(cond) {
		if applied = scanApplied(answer); !applied {
			err = answer.Close()
		}
		deleted := len(c.plan) == 1 && p.Do == driver.Delete && p.If == driver.Any
		return applied || deleted && err == nil, nil, s.uncertain(ctx, err)
	}
	r := s.newReader(p.v, nil, answer, p.Row.Key.Partition)
	at := slices.Index(r.names, "[applied]")
	if at < 0 || !r.next() {
		return false, nil, s.uncertain(ctx, errors.Join(errAnswer, answer.Close()))
	}
	if cell := r.cells[at].data; len(cell) == 1 && cell[0] != 0 {
		return true, nil, nil
	}
	row = &driver.Row{Key: p.Row.Key}
	return false, row, r.row(ctx, row)
}

var errAnswer = errors.New("an answer that does not say whether it was done")

// uncertain is unfinished for an error that can be nil.
func (s *Store) uncertain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return s.unfinished(ctx, err)
}

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
func (s *Store) refusal(ctx context.Context, c *call, read []bool) (*driver.Refusal, error) {
	wanted := make([]bool, len(c.plan))
	for i := range wanted {
		wanted[i] = read == nil || !read[i]
	}
	if err := s.readPlan(ctx, c, wanted); err != nil {
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
func (c *call) refused(rows []driver.Row) (*driver.Refusal, error) {
	if slices.Contains(rows[0].Ring, c.token) {
		return nil, nil
	}
	for i := range c.plan {
		op, row := c.plan[i].Op, &rows[i]
		if !backend.Holds(op, row) {
			return &driver.Refusal{Op: i, Row: *row}, nil
		}
		if at := backend.Overflows(op, row); at >= 0 {
			return &driver.Refusal{Op: i, Row: *row, Overflow: true, Edit: at}, nil
		}
		c.plan[i].died = row.Dead
	}
	return nil, backend.ErrBeaten
}
