package redis

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
)

// Commit does all ops or none, by one script.
func (s *store) Commit(ctx context.Context, token driver.Token, ops []driver.Op, views []*view) (*driver.Refusal, error) {
	if err := who.Fitting(ops); err != nil {
		return nil, err
	}
	c := call{token: token, ops: ops, views: views, list: s.listOf(ops[0].Row.Key.Partition)}
	if c.addsLate() {
		return s.commitLate(ctx, &c)
	}
	refusal, err := s.send(ctx, &c)
	if refusal == nil && err == nil && s.quorum.Replicas > 0 && c.onlyChecks() {
		err = s.awaitReplicas(ctx, c.keys[0])
	}
	return refusal, err
}

// A call is a commit under way.
type call struct {
	token driver.Token
	ops   []driver.Op
	views []*view // of the tables of the ops
	list  string  // the list of names that has their keys

	script *wire.Script
	keys   []string
	forms  []string // types that keys must have
	args   []string
	order  []int // by the number in a refusal: the op that it means, if that is another
}

// send makes the call of a script and reads its answer.
func (s *store) send(ctx context.Context, c *call) (*driver.Refusal, error) {
	switch {
	case !c.oneRecord():
		c.commitCall(s.commit)
	case c.editable():
		c.editCall(s.edit)
	case c.ops[0].Do == driver.Patch:
		c.patchCall(s.patch)
	case c.ops[0].Do != driver.Put:
		c.commitCall(s.commit)
	case c.insertable():
		c.insertCall()
	case c.removable():
		c.removeCall(s.remove)
	default:
		c.putCall(s.put)
	}
	r, err := s.run(ctx, c)
	if err == nil && r.AsksPut() {
		c.putCall(s.put)
		r, err = s.run(ctx, c)
	}
	if err != nil {
		if wire.CodeOf(err) == "WRONGTYPE" {
			return nil, s.refusedKeys(ctx, "commit", serverAnswer(err), c.keys, c.forms)
		}
		return nil, err
	}
	n := r.List()
	switch {
	case n == 0 && !r.Bad:
		return nil, nil
	case n == 1:
		return nil, s.doneBefore(ctx, c)
	}
	return s.refusal(ctx, c, &r, n)
}

// run sends the call of a script, once more if it was to a master that is one no longer.
func (s *store) run(ctx context.Context, c *call) (wire.Reply, error) {
	r, err := s.eval(ctx, c.script, c.keys, c.args)
	if wire.CodeOf(err) == "READONLY" && s.turned(ctx) {
		r, err = s.eval(ctx, c.script, c.keys, c.args)
	}
	return r, err
}

// doneBefore returns what is to be said of a commit that an earlier sending of it has
// done: its own connection has nothing to wait for.
func (s *store) doneBefore(ctx context.Context, c *call) error {
	if s.quorum.Replicas == 0 {
		return nil
	}
	if err := s.awaitReplicas(ctx, c.keys[0]); err != nil {
		return fmt.Errorf("redis: commit: %s: done, but its replicas may not have it: %w: %w", s.addr, driver.ErrUnknownOutcome, err)
	}
	return nil
}

// serverAnswer returns the error of the server alone, to be told anew.
func serverAnswer(err error) error {
	text, _ := wire.Answered(err)
	return wire.ServerError(text)
}

// refusal reads the answer of a script of n parts that says what it refused.
func (s *store) refusal(ctx context.Context, c *call, r *wire.Reply, n int) (*driver.Refusal, error) {
	at := int(r.Number())
	if c.order != nil && at >= 0 && at < len(c.order) {
		at = c.order[at]
	}
	if r.Bad || at < 0 || at >= len(c.ops) {
		return nil, fmt.Errorf("redis: commit: %s: the answer of a script cannot be read: %w", s.addr, driver.ErrUnknownOutcome)
	}
	op, v := &c.ops[at], c.views[at]
	refusal := &driver.Refusal{Op: at}
	refusal.Row.Key = op.Row.Key
	if err := s.readRefused(ctx, v, r, &refusal.Row); err != nil {
		return nil, err
	}
	if n > 2 {
		refusal.Overflow, refusal.Edit = true, nthAdd(op.Edits, int(r.Number()))
	}
	return refusal, nil
}

// readRefused reads the row that a script found.
func (s *store) readRefused(ctx context.Context, v *view, r *wire.Reply, row *driver.Row) error {
	if v.Class == driver.Records {
		hash := r.Hash()
		if r.Bad {
			return v.badRow(row, "_rev")
		}
		return s.readHash(ctx, v, hash, row)
	}
	return v.readRow(r, nil, row)
}

// nthAdd returns the place of an edit that adds, by its number among these.
func nthAdd(edits []driver.Edit, n int) int {
	for i := range edits {
		if edits[i].Do != driver.Add {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return 0
}
