package gate_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
)

// A store is the part of driver.Store that is proven here.
type store interface {
	Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error
	Range(ctx context.Context, span driver.Span) ([]driver.Row, error)
	Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error)
	Walk(ctx context.Context, t *driver.Table, mark string) (rows []driver.Row, next string, err error)
	Count(ctx context.Context, span driver.Span) (int, error)
}

// errDiffers is in the error of a check that found another answer than it wanted.
var errDiffers = errors.New("the store answers otherwise")

func differs(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), errDiffers)
}

// A play does the same on a server and on the memory backend and compares.
type play struct {
	tables
	store
	oracle *memory.Store
	author string // begins the authors of this play, who are nobody else's
}

// A check is something that holds of every store.
type check struct {
	name string
	run  func(ctx context.Context, p *play) error
}

func newPlay(ctx context.Context, s store) (*play, error) {
	p := &play{tables: newTables(), store: s, oracle: memory.New(nil), author: driver.NewToken().String()[6:20]}
	return p, p.oracle.Define(ctx, p.all())
}

// commit commits ops on both sides and compares the answers, and then the rows.
func (p *play) commit(ctx context.Context, token driver.Token, ops ...driver.Op) error {
	want, err := p.oracle.Commit(ctx, token, ops)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	got, err := p.store.Commit(ctx, token, ops)
	if err != nil {
		return fmt.Errorf("commit of %s: %w", opsText(ops), err)
	}
	if d := difference(plainRefusal(want), plainRefusal(got)); d != "" {
		return differs("commit of %s: refusal (-want +got)\n%s", opsText(ops), d)
	}
	for i := range ops {
		if err := p.same(ctx, ops[i].Table, ops[i].Row.Key); err != nil {
			return fmt.Errorf("after commit of %s: %w", opsText(ops), err)
		}
	}
	return nil
}

// do commits ops with a new token, which it returns.
func (p *play) do(ctx context.Context, ops ...driver.Op) (driver.Token, error) {
	token := driver.NewToken()
	return token, p.commit(ctx, token, ops...)
}

func opsText(ops []driver.Op) string {
	s := ""
	for i := range ops {
		s += fmt.Sprintf("[%s %s %.60q if %s]", ops[i].Do, ops[i].Table.Name, ops[i].Row.Key.Sort, ops[i].If)
	}
	return s
}

// same compares what both sides have under keys.
func (p *play) same(ctx context.Context, t *driver.Table, keys ...driver.Key) error {
	return p.sameFields(ctx, t, nil, keys...)
}

func (p *play) sameFields(ctx context.Context, t *driver.Table, mask []int, keys ...driver.Key) error {
	want, got := make([]driver.Row, len(keys)), make([]driver.Row, len(keys))
	if err := p.oracle.Get(ctx, t, keys, mask, want); err != nil {
		return err
	}
	if err := p.store.Get(ctx, t, keys, mask, got); err != nil {
		return fmt.Errorf("get: %w", err)
	}
	if d := difference(plainRows(want), plainRows(got)); d != "" {
		return differs("get %s: rows (-want +got)\n%s", t.Name, d)
	}
	return nil
}

// sameRun compares the rows of a span.
func (p *play) sameRun(ctx context.Context, span driver.Span) error {
	var want []driver.Row
	for row, err := range p.oracle.Range(ctx, span) {
		if err != nil {
			return err
		}
		want = append(want, plainRow(*row))
	}
	got, err := p.store.Range(ctx, span)
	if err != nil {
		return fmt.Errorf("range: %w", err)
	}
	if d := difference(plainRows(want), plainRows(got)); d != "" {
		return differs("range of %s from %.80q to %.80q, reverse %v, limit %d, mask %v: rows (-want +got)\n%.3000s",
			span.Table.Name, span.From, span.To, span.Reverse, span.Limit, span.Mask, d)
	}
	return nil
}

// difference returns what differs, "" if nothing does.
func difference(want, got any) string {
	if reflect.DeepEqual(want, got) { // thousands are compared, and cmp is slow
		return ""
	}
	return cmp.Diff(want, got)
}

// plainRow returns a row without what stores may answer differently.
func plainRow(r driver.Row) driver.Row {
	r.Hint = 0
	r.Fields, r.Extra, r.Ring = slices.Clone(r.Fields), slices.Clone(r.Extra), slices.Clone(r.Ring)
	for len(r.Fields) > 0 && r.Fields[len(r.Fields)-1].IsNone() {
		r.Fields = r.Fields[:len(r.Fields)-1]
	}
	slices.SortFunc(r.Extra, func(a, b driver.Pair) int { return cmpText(a.Name, b.Name) })
	if len(r.Fields) == 0 {
		r.Fields = nil
	}
	if len(r.Extra) == 0 {
		r.Extra = nil
	}
	if len(r.Ring) == 0 {
		r.Ring = nil
	}
	return r
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func plainRows(rows []driver.Row) []driver.Row {
	var list []driver.Row
	for _, r := range rows {
		list = append(list, plainRow(r))
	}
	return list
}

func plainRefusal(r *driver.Refusal) *driver.Refusal {
	if r == nil {
		return nil
	}
	c := *r
	c.Row = plainRow(c.Row)
	return &c
}
