package cassandra

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
)

// patience is how long a commit begins again that others were faster than.
const patience = 10 * time.Second

// errMoved says that a commit was not done, and that by now nothing speaks against it.
var errMoved = errors.New("another commit was faster")

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
	hold, err := s.locks.lock(ctx, c.plan[0].v.physical, ops[0].Row.Key.Partition)
	if err != nil {
		return nil, err
	}
	defer func() { <-hold }()
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		refusal, err := s.attempt(ctx, &c)
		if !errors.Is(err, errMoved) {
			return refusal, err
		}
		if time.Since(begun) > patience {
			return nil, fmt.Errorf("cassandra: commit: %s: other commits on these records were faster for %s: %w", s.addr, patience, driver.ErrThrottled)
		}
		if err := sleep(ctx, pause(attempt)); err != nil {
			return nil, err
		}
	}
}

// pause returns how long to wait before a commit is begun again: longer each time, and
// never as long as its rivals.
func pause(attempt int) time.Duration {
	most := time.Millisecond << min(attempt, 6)
	return rand.N(most) + most/4
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
			return fmt.Errorf("cassandra: %w", err)
		}
		if err := v.fitting(op); err != nil {
			return err
		}
		c.plan[i] = planned{Op: op, v: v}
	}
	return c.checkKeys()
}

// checkKeys says which ops name the same key, or lie in another partition.
func (c *call) checkKeys() error {
	first := &c.plan[0]
	if len(c.plan) == 1 {
		return nil
	}
	named := make(map[[2]string]int, len(c.plan))
	for i := range c.plan {
		p := &c.plan[i]
		if p.v.physical != first.v.physical || p.Row.Key.Partition != first.Row.Key.Partition {
			return unsupported("ops 0 and %d of a commit, on %s and %s, lie in different partitions", i, first.v.name, p.v.name)
		}
		key := [...]string{p.v.name, p.Row.Key.Sort}
		if earlier, ok := named[key]; ok {
			return invalid("ops %d and %d of a commit name the same key of table %s", earlier, i, p.v.name)
		}
		named[key] = i
	}
	return nil
}

// fitting says which value of an op has another kind than its field.
func (v *view) fitting(op *driver.Op) error {
	for i, value := range op.Row.Fields {
		if op.Do == driver.Put && !value.IsNone() && value.Kind() != v.fields[i].Kind {
			return invalid("put on table %s: the field %s is a %s, not a %s", v.name, v.fields[i].Name, value.Kind(), v.fields[i].Kind)
		}
	}
	for i := range op.Edits {
		e := &op.Edits[i]
		if op.Do != driver.Patch || e.Do != driver.Set || e.Field < 0 || e.Value.IsNone() {
			continue
		}
		if f := v.fields[e.Field]; e.Value.Kind() != f.Kind {
			return invalid("patch on table %s: the field %s is a %s, not a %s", v.name, f.Name, e.Value.Kind(), f.Kind)
		}
	}
	return nil
}

// attempt reads what the statements of a commit must name, and sends them once. With
// errMoved nothing was done.
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
	return atOnce(len(c.plan), func(i int) error {
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
		if i == 0 && slices.Contains(p.was.Ring, c.token) || !holds(p.Op, p.was) || overflows(p.Op, p.was) >= 0 {
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
	if s.most > 0 && size > s.most {
		return false, nil, tooLarge("commit: it has about %d bytes, and the server takes %d", size, s.most)
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

// answered reads the answer to a conditional statement.
func (s *Store) answered(ctx context.Context, c *call, answer *gocql.Iter) (applied bool, row *driver.Row, err error) {
	p := &c.plan[0]
	if cond, _ := p.condition(); len(c.plan) > 1 || cond != driver.Absent || p.Do == driver.Delete {
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
// refuse none by now, the commit is to be begun again.
func (c *call) refused(rows []driver.Row) (*driver.Refusal, error) {
	if slices.Contains(rows[0].Ring, c.token) {
		return nil, nil
	}
	for i := range c.plan {
		op, row := c.plan[i].Op, &rows[i]
		if !holds(op, row) {
			return &driver.Refusal{Op: i, Row: *row}, nil
		}
		if at := overflows(op, row); at >= 0 {
			return &driver.Refusal{Op: i, Row: *row, Overflow: true, Edit: at}, nil
		}
	}
	return nil, errMoved
}
