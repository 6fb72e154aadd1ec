package redis

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
)

// Commit does all ops or none, by one script.
func (s *store) Commit(ctx context.Context, token driver.Token, ops []driver.Op, views []*view) (*driver.Refusal, error) {
	if err := who.Fitting(ops); err != nil {
		return nil, err
	}
	c := commit{store: s, token: token, ops: ops, views: views, list: s.listOf(ops[0].Row.Key.Partition)}
	if c.addsLate() {
		return c.late(ctx)
	}
	refusal, err := c.send(ctx)
	if refusal != nil || err != nil || s.conn.quorum.Replicas == 0 {
		return refusal, err
	}
	if !slices.ContainsFunc(ops, func(op driver.Op) bool { return op.Do != driver.Check }) { // it changes nothing
		err = s.conn.awaitReplicas(ctx, c.keys[0])
	}
	return refusal, err
}

// A commit is one under way.
type commit struct {
	store *store
	token driver.Token
	ops   []driver.Op
	views []*view // of the tables of the ops
	list  string  // the list of names that has their keys

	script  *wire.Script
	keys    []string
	args    []string
	numbers []int // by the number in a refusal: the op that it means, if that is another
}

// send makes the call of a script and reads its answer.
func (c *commit) send(ctx context.Context) (*driver.Refusal, error) {
	c.call()
	r, err := c.run(ctx)
	if err == nil && r.AsksPut() {
		c.putCall()
		r, err = c.run(ctx)
	}
	if err != nil {
		return nil, c.misfit(ctx, err)
	}
	n := r.List()
	switch {
	case n == 0 && !r.Bad:
		return nil, nil
	case n == 1:
		return nil, c.doneBefore(ctx)
	}
	return c.refusal(ctx, &r, n)
}

// run sends the call of a script, once more if it was to a master that is one no longer.
func (c *commit) run(ctx context.Context) (wire.Reply, error) {
	r, err := c.store.conn.eval(ctx, c.script, c.keys, c.args)
	if wire.CodeOf(err) == "READONLY" && c.store.conn.turned(ctx) {
		r, err = c.store.conn.eval(ctx, c.script, c.keys, c.args)
	}
	return r, err
}

// doneBefore returns what is to be said of a commit that an earlier sending of it has
// done: its own connection has nothing to wait for.
func (c *commit) doneBefore(ctx context.Context) error {
	if c.store.conn.quorum.Replicas == 0 {
		return nil
	}
	if err := c.store.conn.awaitReplicas(ctx, c.keys[0]); err != nil {
		return fmt.Errorf("redis: commit: %s: done, but its replicas may not have it: %w: %w", c.store.conn.addr, driver.ErrUnknownOutcome, err)
	}
	return nil
}

// misfit returns the error of a call. If a key has another type than it should, it is named.
func (c *commit) misfit(ctx context.Context, err error) error {
	if wire.CodeOf(err) != "WRONGTYPE" {
		return err
	}
	keys, forms := []string{c.list}, []string{"zset"}
	for i, v := range c.views {
		key := &c.ops[i].Row.Key
		keys, forms = append(keys, v.key(key)), append(forms, v.form())
		if v.Class == driver.Records {
			order, _ := v.order(key)
			keys, forms = append(keys, order), append(forms, "zset")
		}
	}
	text, _ := wire.Answered(err)
	return c.store.conn.refusedKeys(ctx, "commit", wire.ServerError(text), keys, forms)
}

// refusal reads the answer of a script of n parts that says what it refused.
func (c *commit) refusal(ctx context.Context, r *wire.Reply, n int) (*driver.Refusal, error) {
	at := int(r.Number())
	if c.numbers != nil && at >= 0 && at < len(c.numbers) {
		at = c.numbers[at]
	}
	if r.Bad || at < 0 || at >= len(c.ops) {
		return nil, fmt.Errorf("redis: commit: %s: the answer of a script cannot be read: %w", c.store.conn.addr, driver.ErrUnknownOutcome)
	}
	op, v := &c.ops[at], c.views[at]
	refusal := &driver.Refusal{Op: at}
	refusal.Row.Key = op.Row.Key
	var err error
	if v.Class != driver.Records {
		err = v.readRow(r, nil, &refusal.Row)
	} else if hash := r.Texts(); r.Bad {
		err = v.badRow(&refusal.Row, "_rev")
	} else {
		err = v.readHash(ctx, hash, &refusal.Row)
	}
	if err != nil {
		return nil, err
	}
	if n > 2 {
		refusal.Overflow, refusal.Edit = true, nthAdd(op.Edits, int(r.Number()))
	}
	return refusal, nil
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
