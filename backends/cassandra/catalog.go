package cassandra

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// The table _tables has a row for each table: its name, the layout number, the key
// columns as JSON, the table whose rows lie in the same one, and in fields the kind of
// each field: its name, and " later" if the table was there before the field. Each is
// as its first writer made it, so that programs which define a table at once agree. One
// row more has the consistency of the keyspace.
const (
	catalogName     = "_tables"
	consistencyName = "-" // no table has this name
	layout          = 2
)

const (
	makeCatalog = `CREATE TABLE IF NOT EXISTS "_tables" ("name" text PRIMARY KEY, "layout" int, "key" text, "home" text, "fields" map<text, text>)`
	getEntry    = `SELECT "layout", "key", "home", "fields" FROM "_tables" WHERE "name" = ?`
	addEntry    = `INSERT INTO "_tables" ("name", "layout", "key", "home", "fields") VALUES (?, ?, ?, ?, ?) IF NOT EXISTS`
	addField    = `UPDATE "_tables" SET "fields"[?] = ? WHERE "name" = ? IF "layout" = ? AND "fields"[?] = null`
	raiseEntry  = `UPDATE "_tables" SET "layout" = ? WHERE "name" = ? IF "layout" = ?`
	dropEntry   = `DELETE FROM "_tables" WHERE "name" = ? IF EXISTS`
	homes       = `SELECT "name", "home" FROM "_tables"`
)

// A catalog is that table. It is there from when made is set.
type catalog struct {
	conn *conn
	made atomic.Bool
}

func headerOf(t *driver.Table) string {
	h := frame.NewHeader(0, t)
	h.Unconditional, h.Native = t.Unconditional, t.Native
	if of := collectionOf(t); of != t.Root().Name {
		h.Of = of
	}
	return h.String()
}

// An entry is a table as the catalog has it.
type entry struct {
	frame.Entry
	home string
}

func newEntry() *entry { return &entry{Entry: frame.NewEntry()} }

// entry reads what the catalog has of a table.
func (c *catalog) entry(ctx context.Context, doing, name string) (*entry, error) {
	if !c.made.Load() {
		return newEntry(), nil
	}
	return c.readEntry(ctx, doing, name)
}

// readEntry is entry where the table of the catalog is there.
func (c *catalog) readEntry(ctx context.Context, doing, name string) (*entry, error) {
	e := newEntry()
	var fields map[string]string
	found := false
	q := c.conn.query(gocql.Serial, getEntry, name).PageState(nil)
	err := c.conn.each(ctx, doing, q, func() { found = true }, &e.Layout, &e.Header, &e.home, &fields)
	if err != nil || !found {
		return e, err
	}
	sound := e.Header != "" && e.Layout > 0
	for field, text := range fields {
		known, ok := frame.ParseKnown(text)
		sound = sound && (ok || e.Layout > layout)
		e.Fields[field] = known
	}
	if !sound {
		return nil, who.Corrupt("%s: the row %q of the table %s.%s does not describe a table", doing, name, c.conn.keyspace, catalogName)
	}
	return e, nil
}

// lacks returns which fields of t an entry does not have, and what speaks against t
// beside what it has.
func (e *entry) lacks(t *driver.Table) (missing []driver.Column, err error) {
	if e.Header != "" && e.Layout <= layout && e.home != t.Root().Name {
		return nil, who.Wrap(frame.OtherKey(t))
	}
	return e.Missing(who, t, headerOf(t), layout)
}

// describe writes the entry of a table, and reports whether it was not there.
func (c *catalog) describe(ctx context.Context, t *driver.Table) (bool, error) {
	fields := map[string]string{}
	for _, f := range t.Fields {
		fields[f.Name] = f.Kind.String()
	}
	return c.decide(ctx, "define "+t.Name, addEntry, t.Name, layout, headerOf(t), t.Root().Name, fields)
}

// raise makes the layout of an entry that an earlier release wrote this one's: what it left
// is read as it is, but it cannot read what comes now.
func (c *catalog) raise(ctx context.Context, name string, e *entry) error {
	if e.Header == "" || e.Layout >= layout {
		return nil
	}
	_, err := c.decide(ctx, "define "+name, raiseEntry, layout, name, e.Layout)
	return err
}

// addFields adds fields to the entry of a table, each if it is not there, and reports
// whether they were not.
func (c *catalog) addFields(ctx context.Context, t *driver.Table, fields []driver.Column) (bool, error) {
	first := true
	for _, f := range fields {
		added, err := c.decide(ctx, "define "+t.Name, addField, f.Name, frame.Known{Kind: f.Kind, Later: true}.String(), t.Name, layout, f.Name)
		if err != nil {
			return false, err
		}
		first = first && added
	}
	return first, nil
}

// decide sends a conditional statement to the catalog, and reports whether its condition
// held. That over all datacenters, whatever the consistency of the rest: it is how
// programs learn of each other. It may be sent again, because what is decided stays so.
func (c *catalog) decide(ctx context.Context, doing, text string, args ...any) (applied bool, err error) {
	iter, err := c.conn.ask(ctx, doing, c.conn.query(gocql.Quorum, text, args...).SerialConsistency(gocql.Serial).NoSkipMetadata())
	if err != nil {
		return false, err
	}
	applied = scanApplied(iter)
	return applied, c.conn.failed(ctx, doing, iter.Close())
}

// scanApplied reads the first row of what a conditional statement answers.
func scanApplied(iter *gocql.Iter) (applied bool) {
	dest := make([]any, len(iter.Columns())) // what is nil is passed over
	if len(dest) > 0 {
		dest[0] = &applied
	}
	return iter.Scan(dest...) && applied
}

// look sees whether the table of the catalog is there.
func (c *catalog) look(ctx context.Context, doing string) error {
	if c.made.Load() {
		return nil
	}
	p, err := c.conn.physical(ctx, doing, catalogName)
	if err != nil {
		return err
	}
	if p.made && !slices.Equal(p.parts, []string{"name text"}) {
		return who.Schema("%s: another program has made a table %s in the keyspace %s: use another keyspace", doing, catalogName, c.conn.keyspace)
	}
	if !p.made {
		return nil
	}
	if err := settled(ctx, func() error { return c.agree(ctx, doing) }); err != nil {
		return err
	}
	c.made.Store(true)
	return nil
}

// agree says whether the keyspace is used with the consistency of the store.
func (c *catalog) agree(ctx context.Context, doing string) error {
	e, err := c.readEntry(ctx, doing, consistencyName)
	if err != nil {
		return err
	}
	if want := c.conn.consistency(); e.Header != "" && e.Header != want {
		return who.Schema("%s: the keyspace %s is used with %s, and this program would use %s, so that each could undo what the other has seen: open it with the same dc", doing, c.conn.keyspace, e.Header, want)
	}
	return nil
}

// ready makes the table of the catalog, if it is not there, and settles the consistency.
func (c *catalog) ready(ctx context.Context) error {
	if !c.made.Load() {
		if err := c.conn.change(ctx, "define", makeCatalog); err != nil {
			return err
		}
	}
	if _, err := c.decide(ctx, "define", addEntry, consistencyName, layout, c.conn.consistency(), "", map[string]string{}); err != nil {
		return err
	}
	if err := c.agree(ctx, "define"); err != nil {
		return err
	}
	c.made.Store(true)
	return nil
}

// local returns the names of the tables whose rows lie in those of some homes.
func (c *catalog) local(ctx context.Context, of ...string) ([]string, error) {
	if len(of) == 0 {
		return nil, nil
	}
	var names []string
	var name, home string
	err := c.conn.each(ctx, "drop", c.conn.query(gocql.Quorum, homes), func() {
		if name != home && slices.Contains(of, home) {
			names = append(names, name)
		}
	}, &name, &home)
	return names, err
}
