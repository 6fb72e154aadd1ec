package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// A table is one name with its rows. All programs that define the name share it.
type table struct {
	name      string
	partition []driver.Column
	sort      []driver.Column
	fields    map[string]driver.Kind
	rows      rows
	natives   map[string]*native
}

// A view is a table as one driver.Table sees it, whose ordinals are its own.
type view struct {
	*table
	native  *native        // the index by which the table is read
	names   []string       // of the fields, by ordinal
	ordinal map[string]int // of the fields, by name
}

// Define makes the tables exist, all or none.
func (s *Store) Define(ctx context.Context, tables []*driver.Table) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, t := range tables {
		if err := s.fits(t, tables); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if t.Native {
			if err := s.defineNative(t); err != nil {
				return err
			}
			continue
		}
		s.define(t)
	}
	return nil
}

// Attach makes the store know tables that exist.
func (s *Store) Attach(ctx context.Context, tables []*driver.Table) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, t := range tables {
		if err := s.fits(t, nil); err != nil {
			return err
		}
		if t.Native {
			if s.tables[t.Home.Name].natives[t.Name] == nil {
				return schema("attach %s: there is no such index; define it first", t.Name)
			}
			continue
		}
		have := s.tables[t.Name]
		if have == nil {
			return schema("attach %s: there is no such table; define it first", t.Name)
		}
		for _, f := range t.Fields {
			if _, ok := have.fields[f.Name]; !ok {
				return schema("attach %s: there is no field %s; define the table first", t.Name, f.Name)
			}
		}
	}
	for _, t := range tables {
		if t.Native {
			if err := s.defineNative(t); err != nil {
				return err
			}
			continue
		}
		s.views[t] = newView(s.tables[t.Name], t)
	}
	return nil
}

// Drop removes the tables with all their rows.
func (s *Store) Drop(ctx context.Context, tables []*driver.Table) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, t := range tables {
		delete(s.tables, t.Name)
		if t.Native && s.tables[t.Home.Name] != nil {
			delete(s.tables[t.Home.Name].natives, t.Name)
		}
		for known := range s.views {
			if known.Name == t.Name {
				delete(s.views, known)
			}
		}
	}
	return nil
}

// fits says what speaks against t beside the tables that there are.
func (s *Store) fits(t *driver.Table, tables []*driver.Table) error {
	if t.Native {
		return s.fitsNative(t, tables)
	}
	if err := backend.Validate(t); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	have := s.tables[t.Name]
	if have == nil {
		return nil
	}
	if !slices.Equal(have.partition, t.Partition) || !slices.Equal(have.sort, t.Sort) {
		return fmt.Errorf("memory: %w", backend.OtherKey(t))
	}
	for _, f := range t.Fields {
		if kind, ok := have.fields[f.Name]; ok && kind != f.Kind {
			return fmt.Errorf("memory: %w", backend.OtherKind(t, f, kind.String()))
		}
	}
	return nil
}

func (s *Store) define(t *driver.Table) {
	have := s.tables[t.Name]
	if have == nil {
		have = &table{
			name:      t.Name,
			partition: slices.Clone(t.Partition),
			sort:      slices.Clone(t.Sort),
			fields:    map[string]driver.Kind{},
		}
		s.tables[t.Name] = have
	}
	for _, f := range t.Fields {
		have.fields[f.Name] = f.Kind
	}
	s.views[t] = newView(have, t)
}

func newView(have *table, t *driver.Table) *view {
	v := &view{table: have, ordinal: map[string]int{}}
	for i, f := range t.Fields {
		v.names = append(v.names, f.Name)
		v.ordinal[f.Name] = i
	}
	return v
}

// view returns what is known of t.
func (s *Store) view(t *driver.Table) (*view, error) {
	if v := s.views[t]; v != nil && v.native == nil {
		return v, nil
	} else if v != nil {
		return nil, invalid("%s is a native index, which is only read in order", t.Name)
	}
	return nil, fmt.Errorf("memory: %w", backend.Unknown(t))
}
