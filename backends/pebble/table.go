package pebble

import (
	"context"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
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

// Tables returns what the catalog has of tables.
func (s *store) Tables(_ context.Context, doing string, tables []*driver.Table) (frame.Tables[view], error) {
	st := state{s, doing, map[string]*entry{}}
	for _, t := range tables {
		e := st.changed[t.Name]
		if e == nil {
			e = s.entry(t)
		}
		grown, err := e.extend(t)
		if err != nil {
			return nil, err
		}
		if grown || e.Number == 0 {
			st.changed[t.Name] = e
		}
	}
	return st, nil
}

// A state is what the catalog has of tables, and what it will have of those that lack something.
type state struct {
	*store
	doing   string
	changed map[string]*entry
}

// Absent says what the catalog lacks of a table.
func (s state) Absent(t *driver.Table) error {
	switch e := s.changed[t.Name]; {
	case e == nil:
		return nil
	case e.Number == 0:
		return who.NoTable(s.doing, t)
	default:
		return who.NoField(s.doing, t, e.Fields[len(e.Fields)-1].Name)
	}
}

// Declare gives the catalog what it lacks.
func (s state) Declare(ctx context.Context, _ []*driver.Table) error {
	return s.saveCatalog(ctx, s.changed)
}

// View returns the view of a table.
func (s state) View(t *driver.Table) *view { return newView(s.tables[t.Name], t) }
