package pebble

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
)

// A table is an entry of the catalog. All driver.Tables of its name share it.
type table struct {
	name      string
	number    int
	partition []driver.Column
	sort      []driver.Column
	prefix    []byte // of its keys
	end       []byte // the least key that is greater than all of its keys
	dropped   bool   // changed under all locks of rows, read under one

	// fields has every field that was ever declared, by number less 1. It only
	// grows, and is replaced as a whole.
	fields atomic.Pointer[[]driver.Column]
}

// fieldName returns the name of the field with a number.
func (t *table) fieldName(number uint64) (string, bool) {
	fields := *t.fields.Load()
	if number == 0 || number > uint64(len(fields)) {
		return "", false
	}
	return fields[number-1].Name, true
}

// A view is a table as one driver.Table sees it, whose ordinals are its own.
type view struct {
	*table
	names    []string       // of the fields, by ordinal
	heads    []uint64       // numbers of the fields times 16, by ordinal
	ordinals map[string]int // by name
	slots    []int32        // ordinal by number, or -1
	noSlots  []int32        // as long as slots, all -1
}

func newView(t *table, declared *driver.Table) *view {
	v := &view{table: t, ordinals: map[string]int{}}
	fields := *t.fields.Load()
	v.slots = slices.Repeat([]int32{-1}, len(fields)+1)
	v.noSlots = slices.Clone(v.slots)
	for i, f := range declared.Fields {
		number := 1 + slices.IndexFunc(fields, func(c driver.Column) bool { return c.Name == f.Name })
		v.names = append(v.names, f.Name)
		v.heads = append(v.heads, uint64(number)<<4)
		v.ordinals[f.Name] = i
		v.slots[number] = int32(i)
	}
	return v
}

// view returns what is known of t.
func (s *Store) view(t *driver.Table) (*view, error) {
	return s.views.Known(who, t)
}

// Define makes the tables exist, all or none.
func (s *Store) Define(ctx context.Context, tables []*driver.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.schema.Lock()
	defer s.schema.Unlock()
	changed := map[string]*entry{}
	for _, t := range tables {
		e := changed[t.Name]
		if e == nil {
			e = s.entry(t)
		}
		grown, err := e.extend(t)
		if err != nil {
			return err
		}
		if grown || e.Number == 0 {
			changed[t.Name] = e
		}
	}
	if err := s.saveCatalog(ctx, changed); err != nil {
		return err
	}
	s.know(tables)
	return nil
}

// Attach makes the store know tables that exist.
func (s *Store) Attach(ctx context.Context, tables []*driver.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.schema.Lock()
	defer s.schema.Unlock()
	for _, t := range tables {
		e := s.entry(t)
		grown, err := e.extend(t)
		switch {
		case err != nil:
			return err
		case e.Number == 0:
			return who.NoTable("attach", t)
		case grown:
			return who.NoField("attach", t, e.Fields[len(e.Fields)-1].Name)
		}
	}
	s.know(tables)
	return nil
}

// know makes views of tables that the catalog has.
func (s *Store) know(tables []*driver.Table) {
	s.views.Set(tables, func(t *driver.Table) *view { return newView(s.tables[t.Name], t) })
}

// Drop removes the tables with all their rows. Their numbers are not used again.
func (s *Store) Drop(ctx context.Context, tables []*driver.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.schema.Lock()
	defer s.schema.Unlock()
	// With every lock held no commit is between its look at dropped and its batch.
	s.locks.lockAll()
	defer s.locks.unlockAll()
	if err := s.eraseTables(ctx, tables); err != nil {
		return err
	}
	for _, t := range tables {
		if have := s.tables[t.Name]; have != nil {
			have.dropped = true
			delete(s.tables, t.Name)
		}
	}
	s.views.Forget(tables)
	return nil
}
