package cassandra

import (
	"context"
	"slices"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
)

// homeOf returns the Records table in which the rows of t lie.
func homeOf(t *driver.Table) *driver.Table {
	if t.Class != driver.Records && t.Home != nil {
		return t.Home
	}
	return t
}

// A state is what the server has of some tables: what the catalog says of each, and
// the tables in which their rows lie, by the names of their homes.
type state struct {
	entries   map[string]*entry
	physicals map[string]*physical
}

// Define makes the tables exist. Another program's fields are no obstacle.
func (s *Store) Define(ctx context.Context, tables []*driver.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	natives, tables := splitNative(tables)
	if len(natives) == 0 {
		if done, err := s.recall(ctx, tables); done || err != nil {
			return err
		}
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	if err := s.define(ctx, tables); err != nil {
		return err
	}
	return s.defineNatives(ctx, "define", natives, false)
}

// recall is define where nothing is to be added, as when a program starts once more: several may be
// under way at the same time.
func (s *Store) recall(ctx context.Context, tables []*driver.Table) (done bool, err error) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	st, err := s.fits(ctx, "define", tables)
	if err != nil || st.absent(tables) != nil {
		return false, err
	}
	return true, s.know(ctx, tables, st)
}

func (s *Store) define(ctx context.Context, tables []*driver.Table) error {
	if len(tables) == 0 {
		return nil
	}
	st, err := s.fits(ctx, "define", tables)
	if err != nil {
		return err
	}
	if st.absent(tables) == nil {
		return s.know(ctx, tables, st)
	}
	if err := s.declare(ctx, tables, st); err != nil {
		return err
	}
	if st, err = s.fits(ctx, "define", tables); err != nil {
		return err
	}
	if err := st.absent(tables); err != nil {
		return err
	}
	return s.know(ctx, tables, st)
}

// Attach makes the store know tables that exist.
func (s *Store) Attach(ctx context.Context, tables []*driver.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.schema.RLock()
	defer s.schema.RUnlock()
	natives, tables := splitNative(tables)
	st, err := s.fits(ctx, "attach", tables)
	if err != nil {
		return err
	}
	if err := st.absent(tables); err != nil {
		return err
	}
	if err := s.know(ctx, tables, st); err != nil {
		return err
	}
	return s.defineNatives(ctx, "attach", natives, true)
}

// fits reads what the server has of tables, and says what speaks against them.
func (s *Store) fits(ctx context.Context, doing string, tables []*driver.Table) (*state, error) {
	for _, t := range tables {
		if err := possible(t); err != nil {
			return nil, err
		}
	}
	if err := s.look(ctx, doing); err != nil {
		return nil, err
	}
	st, err := s.stateOf(ctx, doing, tables)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if err := st.refuses(t); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// stateOf reads what the server has of tables, all at once.
func (s *Store) stateOf(ctx context.Context, doing string, tables []*driver.Table) (*state, error) {
	var named, homes []string
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, t := range tables {
		home := homeOf(t).Name
		add(&named, t.Name)
		add(&named, home)
		add(&homes, home)
	}
	entries, physicals := make([]*entry, len(named)), make([]*physical, len(homes))
	err := atOnce(ctx, len(named)+len(homes), func(ctx context.Context, i int) (err error) {
		if i < len(named) {
			entries[i], err = s.entry(ctx, doing+" "+named[i], named[i])
			return err
		}
		i -= len(named)
		physicals[i], err = s.physical(ctx, doing+" "+homes[i], physicalName(homes[i]))
		return err
	})
	st := &state{map[string]*entry{}, map[string]*physical{}}
	for i, name := range named {
		st.entries[name] = entries[i]
	}
	for i, name := range homes {
		st.physicals[name] = physicals[i]
	}
	return st, err
}

// look sees whether the table of the catalog is there.
func (s *Store) look(ctx context.Context, doing string) error {
	if s.made.Load() {
		return nil
	}
	p, err := s.physical(ctx, doing, catalogName)
	if err != nil {
		return err
	}
	if p.made && !slices.Equal(p.parts, []string{"name text"}) {
		return schema("%s: another program has made a table %s in the keyspace %s: use another keyspace", doing, catalogName, s.keyspace)
	}
	if !p.made {
		return nil
	}
	if err := settled(ctx, func() error { return s.agree(ctx, doing) }); err != nil {
		return err
	}
	s.made.Store(true)
	return nil
}

// settled asks about a table again as long as the server does not know it, although it
// lists it: another program has made it some moments ago.
func settled(ctx context.Context, ask func() error) error {
	for begun := time.Now(); ; {
		err := ask()
		code := codeOf(err)
		if code != gocql.ErrCodeInvalid && code != gocql.ErrCodeServer || time.Since(begun) > settling {
			return err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// refuses says what speaks against t beside what the server has.
func (st *state) refuses(t *driver.Table) error {
	if _, err := st.entries[t.Name].lacks(t); err != nil {
		return err
	}
	home := homeOf(t)
	p := st.physicals[home.Name]
	switch {
	case !p.made:
		return nil
	case st.entries[home.Name].header == "":
		return schema("table %s: there is a table %s, and another program made it; use another keyspace, or remove it", t.Name, physicalName(home.Name))
	}
	if odd := p.odd(t); odd != "" {
		return schema("table %s: the table %s %s, so another program made it; use another keyspace, or remove it", t.Name, physicalName(home.Name), odd)
	}
	return nil
}

// absent says what of tables is not there: the error for whoever needs it.
func (st *state) absent(tables []*driver.Table) error {
	for _, t := range tables {
		e, p := st.entries[t.Name], st.physicals[homeOf(t).Name]
		missing, _ := e.lacks(t)
		switch {
		case e.header == "" || !p.made:
			return who.NoTable("attach", t)
		case e.layout < layout:
			return schema("attach %s: it has the layout %d of an earlier release, and this one writes %d; define it once, with no program of that release beside", t.Name, e.layout, layout)
		case len(missing) > 0:
			return who.NoField("attach", t, missing[0].Name)
		}
		if missing := p.missing(t); len(missing) > 0 {
			return schema("attach %s: there is no column %s; define the table first", t.Name, missing[0].Name)
		}
	}
	return nil
}

// possible says what this store cannot have in a table.
func possible(t *driver.Table) error {
	if err := who.Possible(t); err != nil {
		return err
	}
	home := homeOf(t)
	switch {
	case t.Name == catalogName:
		return invalid("table %s: this name is taken for something else; take another name", t.Name)
	case home != t && home.Class != driver.Records:
		return invalid("table %s: its home %s has no records", t.Name, home.Name)
	case t.Plain && (home != t || t.Class != driver.Rows):
		return invalid("table %s is plain, and its %s are written with conditions", t.Name, home.Class)
	case !slices.Equal(t.Partition, home.Partition):
		return invalid("table %s does not have the partition columns of %s", t.Name, home.Name)
	}
	for _, c := range slices.Concat(t.Partition, t.Fields) {
		if !possibleName(c.Name) {
			return invalid("table %s declares the column %q, which tables cannot have, or have for something else; take another name", t.Name, c.Name)
		}
	}
	for _, f := range t.Fields {
		if slices.ContainsFunc(t.Partition, func(c driver.Column) bool { return c.Name == f.Name }) {
			return invalid("table %s declares the field %s, which is a column of its partition", t.Name, f.Name)
		}
	}
	return nil
}

// possibleName reports whether tables can have a column of a name for a field.
func possibleName(name string) bool {
	return name != "" && name != sortColumn && name != writtenColumn && !isOwn(name)
}

// know makes views of tables, which the server has, after it has seen that the server
// knows them: it reads a row that there is not.
func (s *Store) know(ctx context.Context, tables []*driver.Table, st *state) error {
	var homes []*driver.Table
	for _, t := range tables {
		if home := homeOf(t); !slices.ContainsFunc(homes, func(t *driver.Table) bool { return t.Name == home.Name }) {
			homes = append(homes, home)
		}
	}
	err := atOnce(ctx, len(homes), func(ctx context.Context, i int) error {
		text, args := "SELECT "+quoted(sortColumn)+" FROM "+quoted(physicalName(homes[i].Name))+" WHERE "+quoted(sortColumn)+" = ''", []any(nil)
		for _, c := range homes[i].Partition {
			text += " AND " + quoted(c.Name) + " = ?"
			args = append(args, someOf(c.Kind))
		}
		return settled(ctx, func() error {
			_, err := s.read(ctx, "define "+homes[i].Name, gocql.One, text, args...)
			return err
		})
	})
	if err != nil {
		return err
	}
	s.see(tables, st)
	return nil
}

// someOf returns what to bind for some value of a kind.
func someOf(k driver.Kind) any {
	switch k {
	case driver.Bool:
		return false
	case driver.Float:
		return 0.0
	case driver.Bytes:
		return []byte{0}
	case driver.String:
		return "x"
	}
	return int64(0)
}

// see makes views of tables.
func (s *Store) see(tables []*driver.Table, st *state) {
	s.views.Set(tables, func(t *driver.Table) *view {
		return s.newView(t, st.entries[t.Name], st.physicals[homeOf(t).Name])
	})
}
