package gate_test

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// conditions does every verb under every condition that it may have to rows in every
// state.
func conditions(ctx context.Context, p *play) error {
	rev := driver.NewToken()
	for _, state := range []string{"missing", "there", "dead", "gone"} {
		for verb := driver.Check; verb <= driver.Fence; verb++ {
			for i, c := range everyCondition(rev) {
				op := postOp(p, verb, p.post(p.author, fmt.Sprint(state, verb, i)), c.If, c.Rev)
				if op.Validate() != nil {
					continue
				}
				if err := p.condition(ctx, state, rev, op); err != nil {
					return fmt.Errorf("%s row: %w", state, err)
				}
			}
		}
	}
	other := p.post(p.author, "other")
	if _, err := p.do(ctx, postOp(p, driver.Put, other, driver.Absent, rev)); err != nil {
		return err
	}
	_, err := p.do(ctx, postOp(p, driver.Put, other, driver.AtRev, rev))
	return err
}

// everyCondition returns ops with nothing but their conditions; rev is that of
// the row, if there is one.
func everyCondition(rev driver.Token) []driver.Op {
	return []driver.Op{{If: driver.Any}, {If: driver.Absent}, {If: driver.Present}, {If: driver.AtRev, Rev: rev},
		{If: driver.AtRev, Rev: driver.NewToken()}}
}

// condition brings a row into a state and does op to it.
func (p *play) condition(ctx context.Context, state string, rev driver.Token, op driver.Op) error {
	if state != "missing" {
		before := driver.Op{Do: driver.Put, Table: op.Table, If: driver.Absent,
			Row: driver.Row{Key: op.Row.Key, Fields: []driver.Value{text("before")}, Dead: state == "dead"}}
		if err := p.commit(ctx, rev, before); err != nil {
			return err
		}
	}
	if state == "gone" {
		if _, err := p.do(ctx, driver.Op{Do: driver.Delete, Table: op.Table, Row: driver.Row{Key: op.Row.Key}}); err != nil {
			return err
		}
	}
	_, err := p.do(ctx, op)
	return err
}

func postOp(p *play, verb driver.Verb, k driver.Key, cond driver.Cond, rev driver.Token) driver.Op {
	op := driver.Op{Do: verb, Table: p.posts, Row: driver.Row{Key: k}, If: cond, Rev: rev}
	switch verb {
	case driver.Put:
		op.Row.Fields, op.Row.Meta = titled("after"), "n"
	case driver.Patch:
		op.Edits = []driver.Edit{{Do: driver.Set, Field: title, Value: text("after")}}
	case driver.Fence:
		op.Row.Expires = 1000
	}
	return op
}

// claimConditions does the same to the claims of a unique index.
func claimConditions(ctx context.Context, p *play) error {
	rev := driver.NewToken()
	for _, state := range []string{"missing", "there", "gone"} {
		for _, verb := range []driver.Verb{driver.Check, driver.Put, driver.Delete} {
			for i, op := range everyCondition(rev) {
				op.Do, op.Table, op.Row.Key = verb, p.slug, p.claim(p.author, fmt.Sprint(state, verb, i))
				if verb == driver.Put {
					op.Row.Fields, op.Row.Expires = []driver.Value{text("owner")}, 5
				}
				if err := p.condition(ctx, state, rev, op); err != nil {
					return fmt.Errorf("%s claim: %w", state, err)
				}
			}
		}
	}
	return nil
}

// replay sends commits again: at once, after another write, and after so many
// writes that the ring has forgotten them.
func replay(ctx context.Context, p *play) error {
	for _, verb := range []driver.Verb{driver.Put, driver.Patch} {
		for cond := driver.Any; cond <= driver.AtRev; cond++ {
			if verb == driver.Patch && cond < driver.Present {
				continue
			}
			k := p.post(p.author, fmt.Sprint(verb, cond))
			base, err := driver.Token{}, error(nil)
			if cond != driver.Absent {
				if base, err = p.do(ctx, postOp(p, driver.Put, k, driver.Absent, base)); err != nil {
					return err
				}
			}
			if err := p.sendAgain(ctx, k, postOp(p, verb, k, cond, base)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *play) sendAgain(ctx context.Context, k driver.Key, op driver.Op) error {
	token, err := p.do(ctx, op)
	if err != nil {
		return err
	}
	for range p.posts.Ring + 1 {
		if err := p.commit(ctx, token, op); err != nil {
			return fmt.Errorf("sent again: %w", err)
		}
		last := driver.Op{Do: driver.Patch, Table: p.posts, Row: driver.Row{Key: k}, If: driver.Present,
			Edits: []driver.Edit{{Do: driver.Add, Field: views, Value: driver.IntValue(1)}}}
		rev, err := p.do(ctx, last)
		if err != nil {
			return err
		}
		fence := postOp(p, driver.Fence, k, driver.AtRev, rev)
		if _, err := p.do(ctx, fence); err != nil {
			return err
		}
	}
	return nil
}

// expiry writes rows that have expired, and dead ones, takes a row away, and reads runs of them.
func expiry(ctx context.Context, p *play) error {
	for i, row := range []driver.Row{
		{Expires: 1}, {Expires: -1}, {Expires: 1 << 52}, {Dead: true}, {Dead: true, Expires: 2}, {Meta: "\x00note"}, {},
	} {
		id := fmt.Sprint(i)
		row.Key, row.Fields = p.post(p.author, id), titled("t")
		record := driver.Op{Do: driver.Put, Table: p.posts, Row: row, If: driver.Absent}
		entry := driver.Op{Do: driver.Put, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, int64(i), id), Expires: row.Expires}}
		if _, err := p.do(ctx, record, entry); err != nil {
			return err
		}
	}
	if _, err := p.do(ctx, driver.Op{Do: driver.Delete, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, 3, "3")}}); err != nil {
		return err
	}
	for _, t := range []*driver.Table{p.posts, p.byAt} {
		if err := p.sameRun(ctx, driver.Span{Table: t, Key: p.post(p.author, "")}); err != nil {
			return err
		}
	}
	return nil
}
