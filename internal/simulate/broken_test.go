package simulate_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/polystore/polystore/internal/simulate"
	"github.com/polystore/polystore/repo/driver"
)

// A broken store spoils what a client sends, or what it is told.
type broken struct {
	driver.Store
	send  func(ctx context.Context, s driver.Store, token driver.Token, ops []driver.Op) (*driver.Refusal, error)
	rows  func(t *driver.Table, rows []driver.Row) // after a Get
	skips bool                                     // the first row of each range
}

func (b *broken) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if b.send == nil || ops[0].Table.Name == "_catalog" {
		return b.Store.Commit(ctx, token, ops)
	}
	return b.send(ctx, b.Store, token, ops)
}

func (b *broken) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	err := b.Store.Get(ctx, t, keys, mask, rows)
	if err == nil && b.rows != nil && t.Name != "_catalog" {
		b.rows(t, rows)
	}
	return err
}

func (b *broken) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		first := b.skips
		for row, err := range b.Store.Range(ctx, span) {
			if first {
				first = false
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// spoiled sends ops after each has been changed, those for which change is false
// left out.
func spoiled(change func(op *driver.Op) bool) func(context.Context, driver.Store, driver.Token, []driver.Op) (*driver.Refusal, error) {
	return func(ctx context.Context, s driver.Store, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		var list []driver.Op
		for _, op := range ops {
			if change(&op) {
				list = append(list, op)
			}
		}
		if len(list) == 0 {
			return nil, nil
		}
		return s.Commit(ctx, token, list)
	}
}

// controls are the ways to spoil it, by what is done wrong.
var controls = []struct {
	name string
	make func(s driver.Store) driver.Store
}{
	{"a timeout is taken for a refusal", func(s driver.Store) driver.Store {
		return &broken{Store: s, send: func(ctx context.Context, s driver.Store, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			refusal, err := s.Commit(ctx, token, ops)
			if errors.Is(err, driver.ErrUnknownOutcome) {
				rows := make([]driver.Row, 1)
				err = s.Get(ctx, ops[0].Table, []driver.Key{ops[0].Row.Key}, nil, rows)
				refusal = &driver.Refusal{Row: rows[0]}
			}
			return refusal, err
		}}
	}},
	{"a timeout is taken for a failure", func(s driver.Store) driver.Store {
		return &broken{Store: s, send: func(ctx context.Context, s driver.Store, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			refusal, err := s.Commit(ctx, token, ops)
			if errors.Is(err, driver.ErrUnknownOutcome) {
				err = driver.ErrUnavailable
			}
			return refusal, err
		}}
	}},
	{"a timeout is taken for success", func(s driver.Store) driver.Store {
		return &broken{Store: s, send: func(ctx context.Context, s driver.Store, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			refusal, err := s.Commit(ctx, token, ops)
			if errors.Is(err, driver.ErrUnknownOutcome) {
				err = nil
			}
			return refusal, err
		}}
	}},
	{"rows after the record", func(s driver.Store) driver.Store { return &broken{Store: s, send: split} }},
	{"a second attempt has another token", func(s driver.Store) driver.Store {
		var mu sync.Mutex
		sent := map[driver.Token]bool{}
		return &broken{Store: s, send: func(ctx context.Context, s driver.Store, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			mu.Lock()
			again := sent[token]
			sent[token] = true
			mu.Unlock()
			if again {
				token = driver.NewToken()
			}
			return s.Commit(ctx, token, ops)
		}}
	}},
	{"claims are put whoever has them", func(s driver.Store) driver.Store {
		return &broken{Store: s, send: spoiled(func(op *driver.Op) bool {
			if op.Table.Class == driver.Claims {
				op.If = driver.Any
			}
			return true
		})}
	}},
	{"claims are not released", func(s driver.Store) driver.Store {
		return &broken{Store: s, send: spoiled(func(op *driver.Op) bool { return op.Table.Class != driver.Claims || op.Do != driver.Delete })}
	}},
	{"rows are not removed", func(s driver.Store) driver.Store {
		return &broken{Store: s, send: spoiled(func(op *driver.Op) bool { return op.Table.Class != driver.Rows || op.Do != driver.Delete })}
	}},
	{"rows are not put", func(s driver.Store) driver.Store {
		return &broken{Store: s, send: spoiled(func(op *driver.Op) bool { return op.Table.Class != driver.Rows || op.Do != driver.Put })}
	}},
	{"records are written whatever their Rev", func(s driver.Store) driver.Store {
		return &broken{Store: s, send: spoiled(func(op *driver.Op) bool {
			if op.Table.Class == driver.Records && op.If == driver.AtRev && op.Do != driver.Fence {
				op.If = driver.Present
			}
			return true
		})}
	}},
	{"a fence buries the record", func(s driver.Store) driver.Store {
		return &broken{Store: s, send: spoiled(func(op *driver.Op) bool {
			if op.Do == driver.Fence {
				op.Do, op.Row.Dead = driver.Put, true
			}
			return true
		})}
	}},
	{"the ring is not read", func(s driver.Store) driver.Store {
		return &broken{Store: s, rows: func(_ *driver.Table, rows []driver.Row) {
			for i := range rows {
				rows[i].Ring = nil
			}
		}}
	}},
	{"reads are old", func(s driver.Store) driver.Store { return &broken{Store: s, rows: older()} }},
	{"a range lacks its first row", func(s driver.Store) driver.Store { return &broken{Store: s, skips: true} }},
}

// split commits the record, and then what belongs to it.
func split(ctx context.Context, s driver.Store, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	refusal, err := s.Commit(ctx, token, ops[:1])
	if err != nil || refusal != nil || len(ops) == 1 {
		return refusal, err
	}
	return s.Commit(ctx, driver.NewToken(), ops[1:])
}

// older keeps what was read first of each row that was there.
func older() func(*driver.Table, []driver.Row) {
	type place struct {
		table string
		key   driver.Key
	}
	var mu sync.Mutex
	first := map[place]driver.Row{}
	return func(t *driver.Table, rows []driver.Row) {
		mu.Lock()
		defer mu.Unlock()
		for i := range rows {
			p := place{t.Name, rows[i].Key}
			if old, ok := first[p]; ok && len(old.Fields) == len(rows[i].Fields) {
				rows[i] = ownRow(&old) // the caller uses its slices again
			} else if !rows[i].Rev.IsZero() {
				first[p] = ownRow(&rows[i])
			}
		}
	}
}

// ownRow returns a row with slices of its own.
func ownRow(r *driver.Row) driver.Row {
	out := *r
	out.Fields, out.Extra, out.Ring = slices.Clone(r.Fields), slices.Clone(r.Extra), slices.Clone(r.Ring)
	return out
}

// Each way to spoil the store breaks a promise, and the short form finds it.
func TestBrokenStores(t *testing.T) {
	for _, c := range controls {
		x := simulate.Simulator{T: t, Wrap: c.make}
		f := find(&x)
		if f == nil {
			t.Errorf("%s: not found in %d runs", c.name, x.Runs)
			continue
		}
		t.Logf("%s: %s, %d runs with those that shrink it\n%s", c.name, f, x.Runs, f.Story)
		if f.Promise == "" {
			t.Errorf("%s: found by something that is no promise: %s", c.name, f)
		}
	}
}

// find makes runs at random until one breaks a promise.
func find(x *simulate.Simulator) *simulate.Failure {
	for n := range uint64(4000) {
		if f := x.Random(1 + n); f != nil {
			return f
		}
	}
	return nil
}
