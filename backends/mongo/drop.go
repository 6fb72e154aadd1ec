package mongo

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// Drop removes the tables with all their rows, each by one command.
func (s *store) Drop(ctx context.Context, tables []*driver.Table) error {
	for _, t := range tables {
		drop := func() error { return s.catalog.drop(ctx, t.Name) }
		if t.Native {
			drop = func() error { return s.catalog.dropNative(ctx, t) }
		}
		if err := drop(); err != nil {
			return err
		}
	}
	return nil
}

// drop removes a collection, and then what the catalog says of it. One that another
// program made stays.
func (c *catalog) drop(ctx context.Context, name string) error {
	list := map[string]*entry{name: newEntry()}
	if err := c.described(ctx, "drop "+name, []string{name}, list); err != nil {
		return err
	}
	if list[name].Header == "" {
		return nil
	}
	w := command("drop", c.prefix+name)
	if err := c.conn.alone(ctx, "drop "+name, &w, codeNoNamespace); err != nil {
		return err
	}
	w = command("delete", c.prefix+catalogName)
	w.OpenList("deletes")
	w.Open("0")
	w.TextIn("q", "_id", name)
	w.Int32("limit", 1)
	return c.conn.alter(ctx, "drop "+name, &w, codeNoNamespace)
}

// dropNative removes the index of a native table.
func (c *catalog) dropNative(ctx context.Context, t *driver.Table) error {
	if t.Home == nil {
		return who.Invalid("drop %s: a native index without the table of records that it belongs to", t.Name)
	}
	w := command("dropIndexes", c.prefix+t.Home.Name)
	w.Text("index", t.Name)
	return c.conn.alone(ctx, "drop "+t.Name, &w, codeNoIndex, codeNoNamespace)
}
