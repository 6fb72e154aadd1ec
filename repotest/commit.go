package repotest

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A lateCommit is one that will be done later.
type lateCommit struct {
	token driver.Token
	ops   []driver.Op
	after int // calls; 0 is at Release
}

// Commit does all ops or none, unless a rule says otherwise.
func (s *Store) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	tables := make([]*driver.Table, len(ops))
	for i := range ops {
		tables[i] = ops[i].Table
	}
	m := s.meet(ctx, Commit, tables)
	err := m.wait(ctx)
	if err == nil {
		err = m.refuse()
	}
	var refusal *driver.Refusal
	if err == nil {
		refusal, err = s.commit(ctx, m, token, ops)
	}
	m.end(refusal != nil, err)
	return refusal, err
}

func (s *Store) commit(ctx context.Context, m *meeting, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	unknown := fmt.Errorf("%s: commit, %s: %w", m.event.Rule, m.event.Fault, driver.ErrUnknownOutcome)
	switch m.event.Fault {
	case Conflict, Taken:
		return s.faster(ctx, m, token, ops)
	case LostAnswer:
		if _, err := s.inner.Commit(ctx, token, ops); err != nil {
			return nil, err
		}
		return nil, unknown
	case LostCall:
		return nil, unknown
	case Late:
		s.mu.Lock()
		defer s.mu.Unlock()
		c := lateCommit{token: token, ops: cloned(ops)}
		if m.after > 0 {
			c.after = m.after + 1 // this call counts as well
		}
		s.late = append(s.late, c)
		return nil, unknown
	case Twice:
		if _, err := s.inner.Commit(ctx, token, ops); err != nil {
			return nil, err
		}
	}
	return s.inner.Commit(ctx, token, ops)
}

// faster lets another writer be faster with the first record that ops expect at a version, which
// gets another one, or that they insert. The refusal names the rule. What has no such record is done.
func (s *Store) faster(ctx context.Context, m *meeting, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	cond, why := driver.AtRev, m.event.Rule
	if m.event.Fault == Taken {
		cond = driver.Absent
	}
	at := slices.IndexFunc(ops, func(op driver.Op) bool { return op.Table.Class == driver.Records && op.If == cond })
	switch {
	case at < 0:
		m.event.Fault, m.event.Rule = None, ""
	case m.event.Fault == Taken:
		return &driver.Refusal{Op: at, Row: driver.Row{Key: ops[at].Row.Key, Rev: driver.NewToken()}, Why: why}, nil
	default:
		touch := driver.Op{Do: driver.Patch, If: driver.AtRev, Rev: ops[at].Rev, Table: ops[at].Table, Row: driver.Row{Key: ops[at].Row.Key}}
		if _, err := s.inner.Commit(ctx, driver.NewToken(), []driver.Op{touch}); err != nil {
			return nil, err
		}
	}
	refusal, err := s.inner.Commit(ctx, token, ops)
	if refusal != nil && at >= 0 {
		refusal.Why = why
	}
	return refusal, err
}

// countDown does the late commits after whose calls this was the last.
func (s *Store) countDown() {
	s.mu.Lock()
	var due, rest []lateCommit
	for _, c := range s.late {
		switch c.after--; c.after {
		case 0:
			due = append(due, c)
		default:
			rest = append(rest, c)
		}
	}
	s.late = rest
	s.mu.Unlock()
	for _, c := range due {
		s.do(c)
	}
}

// do does a late commit. Nobody waits for its answer.
func (s *Store) do(c lateCommit) {
	_, _ = s.inner.Commit(context.Background(), c.token, c.ops)
}

// cloned returns ops that share no slices with those of the caller.
func cloned(ops []driver.Op) []driver.Op {
	ops = slices.Clone(ops)
	for i := range ops {
		op := &ops[i]
		op.Edits = slices.Clone(op.Edits)
		op.Row.Fields = slices.Clone(op.Row.Fields)
		op.Row.Extra = slices.Clone(op.Row.Extra)
		op.Row.Hint = 0 // of a read that will be long ago
	}
	return ops
}
