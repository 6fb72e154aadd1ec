package frame

import (
	"context"
	"iter"

	"github.com/polystore/polystore/repo/driver"
)

// A Store is the driver.Store that a frame and a Backend are together. What some stores have beside it they add.
type Store[V any] struct {
	frame   *Frame[V]
	backend Backend[V]
}

// Store returns the store of a frame, once.
func (f *Frame[V]) Store(b Backend[V]) *Store[V] {
	f.life.begin(f.name, b.Close)
	return &Store[V]{f, b}
}

// Facts says what the store is, as it was when it was opened.
func (s *Store[V]) Facts() driver.Facts { return s.frame.facts }

// Close waits for calls under way and closes the store, once. A loop over Range or Walk gets ErrClosed when it goes on.
func (s *Store[V]) Close() error { return s.frame.life.close() }

// Get reads the rows under keys into rows.
func (s *Store[V]) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if err := s.frame.Enter(ctx); err != nil {
		return err
	}
	defer s.frame.Leave()
	v, err := s.frame.rows(t, mask)
	if err != nil {
		return err
	}
	if len(keys) != len(rows) {
		return s.frame.name.Invalid("get %s: %d keys but %d rows", t.Name, len(keys), len(rows))
	}
	return s.backend.Get(ctx, v, keys, mask, rows)
}

// Range yields the rows of a span.
func (s *Store[V]) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return s.backend.Range(ctx, span)
}

// Walk yields all rows of a table.
func (s *Store[V]) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return s.backend.Walk(ctx, t, mark)
}

// Commit does all ops or none.
func (s *Store[V]) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	f := s.frame
	if err := f.Enter(ctx); err != nil {
		return nil, err
	}
	defer f.Leave()
	if len(ops) == 0 {
		return nil, nil
	}
	kept := f.lists.Get().(*[]*V)
	views, err := f.check(token, ops, (*kept)[:0])
	defer func() {
		clear(views)
		*kept = views[:0]
		f.lists.Put(kept)
	}()
	if err != nil {
		return nil, err
	}
	return s.backend.Commit(ctx, token, ops, views)
}

// check says what makes a commit one that no store could do, or not this one, and appends the views of its tables.
func (f *Frame[V]) check(token driver.Token, ops []driver.Op, views []*V) ([]*V, error) {
	if token.IsZero() {
		return views, f.name.Invalid("commit without a token")
	}
	for i := range ops {
		v, err := f.rows(ops[i].Table, nil)
		if err != nil {
			return views, err
		}
		views = append(views, v)
		if err := ops[i].Validate(); err != nil {
			return views, f.name.Wrap(err)
		}
		if beyond(f.facts.Scope, &ops[0], &ops[i]) && i > 0 {
			return views, f.name.Invalid("op %d of a commit, on table %s, lies outside the %s of op 0, on table %s",
				i, ops[i].Table.Name, f.facts.Scope, ops[0].Table.Name)
		}
	}
	return views, f.name.twice(ops)
}

// Define makes tables exist. Another program's fields are no obstacle.
func (s *Store[V]) Define(ctx context.Context, tables []*driver.Table) error {
	f := s.frame
	if err := f.Enter(ctx); err != nil {
		return err
	}
	defer f.Leave()
	natives, tables := splitNative(tables)
	done, err := s.recall(ctx, tables)
	if err != nil || done && len(natives) == 0 {
		return err
	}
	f.schema.Lock()
	defer f.schema.Unlock()
	if !done {
		if err := s.define(ctx, tables); err != nil {
			return err
		}
	}
	return s.native(ctx, "define", natives, true)
}

// recall is define where nothing is to be added, as when a program starts once more: several may be under way at the
// same time.
func (s *Store[V]) recall(ctx context.Context, tables []*driver.Table) (done bool, err error) {
	s.frame.schema.RLock()
	defer s.frame.schema.RUnlock()
	have, absent, err := s.look(ctx, "define", tables)
	if err != nil || absent != nil {
		return false, err
	}
	s.know(tables, have)
	return true, nil
}

// define makes tables that lack something.
func (s *Store[V]) define(ctx context.Context, tables []*driver.Table) error {
	have, absent, err := s.look(ctx, "define", tables)
	if err == nil && absent != nil {
		if err = have.Declare(ctx, tables); err == nil {
			have, absent, err = s.look(ctx, "define", tables)
		}
	}
	if err != nil {
		return err
	}
	if absent != nil {
		return absent
	}
	s.know(tables, have)
	return nil
}

// Attach makes the store know tables that exist.
func (s *Store[V]) Attach(ctx context.Context, tables []*driver.Table) error {
	f := s.frame
	if err := f.Enter(ctx); err != nil {
		return err
	}
	defer f.Leave()
	f.schema.RLock()
	defer f.schema.RUnlock()
	natives, tables := splitNative(tables)
	have, absent, err := s.look(ctx, "attach", tables)
	if err != nil {
		return err
	}
	if absent != nil {
		return absent
	}
	s.know(tables, have)
	return s.native(ctx, "attach", natives, false)
}

// look reads what there is of tables, and says what of them is absent.
func (s *Store[V]) look(ctx context.Context, doing string, tables []*driver.Table) (have Tables[V], absent, err error) {
	if len(tables) == 0 {
		return nil, nil, nil
	}
	for _, t := range tables {
		if err := s.frame.name.Wrap(Validate(t)); err != nil {
			return nil, nil, err
		}
	}
	if have, err = s.backend.Tables(ctx, doing, tables); err != nil {
		return nil, nil, err
	}
	for _, t := range tables {
		if absent = have.Absent(t); absent != nil {
			break
		}
	}
	return have, absent, nil
}

func (s *Store[V]) know(tables []*driver.Table, have Tables[V]) {
	s.frame.views.set(tables, func(t *driver.Table) *V { return have.View(t) })
}

// native makes native indexes, or sees that they are there.
func (s *Store[V]) native(ctx context.Context, doing string, tables []*driver.Table, define bool) error {
	for _, t := range tables {
		keeper, ok := s.backend.(Natives[V])
		if !ok {
			return s.frame.name.Unsupported("table %s: a native index", t.Name)
		}
		if err := ValidateNative(t); err != nil {
			return s.frame.name.Wrap(err)
		}
		v, err := keeper.Native(ctx, doing, t, define)
		if err != nil {
			return err
		}
		s.frame.Know(t, v)
	}
	return nil
}

// splitNative returns the tables that are native, and the others.
func splitNative(tables []*driver.Table) (natives, others []*driver.Table) {
	for _, t := range tables {
		if t.Native {
			natives = append(natives, t)
		} else {
			others = append(others, t)
		}
	}
	return natives, others
}

// Drop removes tables with all their rows.
func (s *Store[V]) Drop(ctx context.Context, tables []*driver.Table) error {
	if err := s.frame.Enter(ctx); err != nil {
		return err
	}
	defer s.frame.Leave()
	s.frame.schema.Lock()
	defer s.frame.schema.Unlock()
	s.frame.Forget(tables...)
	return s.backend.Drop(ctx, tables)
}
