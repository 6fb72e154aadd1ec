package memory

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A table is one name with its rows. All programs that define the name share it.
type table struct {
	partition []driver.Column
	sort      []driver.Column
	fields    map[string]driver.Kind
	rows      rows
	natives   map[string]*native
}

// Tables returns what there is of tables.
func (s *store) Tables(_ context.Context, doing string, tables []*driver.Table) (frame.Tables[view], error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, t := range tables {
		have := s.tables[t.Name]
		if have == nil {
			continue
		}
		if !slices.Equal(have.partition, t.Partition) || !slices.Equal(have.sort, t.Sort) {
			return nil, who.Wrap(frame.OtherKey(t))
		}
		for _, f := range t.Fields {
			if kind, ok := have.fields[f.Name]; ok && kind != f.Kind {
				return nil, who.Wrap(frame.OtherKind(t, f, kind.String()))
			}
		}
	}
	return state{s, doing}, nil
}

// A state is that of the tables, which change while nobody else defines any.
type state struct {
	*store
	doing string
}

// Absent says which of a table or its fields is not there.
func (s state) Absent(t *driver.Table) error {
	have := s.tables[t.Name]
	if have == nil {
		return who.NoTable(s.doing, t)
	}
	for _, f := range t.Fields {
		if _, ok := have.fields[f.Name]; !ok {
			return who.NoField(s.doing, t, f.Name)
		}
	}
	return nil
}

// Declare makes tables and fields.
func (s state) Declare(_ context.Context, tables []*driver.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tables {
		if s.tables[t.Name] == nil {
			s.tables[t.Name] = &table{
				partition: slices.Clone(t.Partition),
				sort:      slices.Clone(t.Sort),
				fields:    map[string]driver.Kind{},
				natives:   map[string]*native{},
			}
		}
		for _, f := range t.Fields {
			s.tables[t.Name].fields[f.Name] = f.Kind
		}
	}
	return nil
}

// View returns the view of a table.
func (s state) View(t *driver.Table) *view {
	return &view{Table: frame.NewTable(t, nil), table: s.tables[t.Name]}
}
