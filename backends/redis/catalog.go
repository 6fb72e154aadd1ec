package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// The catalog has a hash for each table, <prefix>_table:TABLE. Its field ".key" has
// the key columns as JSON, and each other one the kind of a field: its name, and
// " later" if the table was there before the field. One program makes it, with all its
// fields at once, and what others add is as the first of them wrote it: programs which
// define a table at the same time agree, and no row is older than a field that is not
// marked.
const (
	catalogName = "_table:"
	keyField    = ".key" // no field of a table begins with a dot
	layout      = 2      // 1 had no list of names
)

func headerOf(t *driver.Table) string {
	h := frame.NewHeader(layout, t)
	h.KeyOnly = t.KeyOnly
	return h.String()
}

// entries reads what the catalog has of tables, by name.
func (c *conn) entries(ctx context.Context, doing string, tables ...*driver.Table) (map[string]*frame.Entry, error) {
	list := map[string]*frame.Entry{}
	cmds := make([]*goredis.RawCmd, len(tables))
	for i, t := range tables {
		cmds[i] = goredis.NewRawCmd(ctx, "hgetall", c.prefix+catalogName+t.Name)
	}
	if err := c.askAll(ctx, doing, cmds); err != nil {
		return nil, err
	}
	for i, t := range tables {
		r, err := c.reply(ctx, doing+" "+t.Name, "", cmds[i])
		if err != nil {
			return nil, err
		}
		e, ok := readEntry(&r)
		if !ok {
			return nil, who.Corrupt("%s: the key %s%s%s does not describe a table", doing, c.prefix, catalogName, t.Name)
		}
		list[t.Name] = &e
	}
	return list, nil
}

func readEntry(r *wire.Reply) (e frame.Entry, ok bool) {
	e = frame.NewEntry()
	h := wire.Hash(r.Texts())
	for name, text := range h.All {
		if name == keyField {
			e.Header = text
		} else if e.Fields[name], ok = frame.ParseKnown(text); !ok {
			return e, false
		}
	}
	e.Layout = layout
	if header, ok := frame.ParseHeader(e.Header); ok {
		e.Layout = header.Layout
	}
	return e, !r.Bad && (len(h) == 0) == (e.Header == "")
}

// lacks returns which fields of t an entry does not have, and what speaks against t beside what it has.
func lacks(e *frame.Entry, t *driver.Table) (missing []driver.Column, err error) {
	if e.Layout < layout {
		return nil, who.Earlier(t, e.Layout, layout)
	}
	return e.Missing(who, t, headerOf(t), layout)
}

// createText makes the description of a table, unless there is one.
const createText = `if redis.call('HLEN', KEYS[1]) > 0 then return 0 end
for f = 1, #ARGV, 4000 do redis.call('HSET', KEYS[1], unpack(ARGV, f, math.min(f + 3999, #ARGV))) end
return 1`

// create makes the description of a table, and reports whether there was none.
func (c *conn) create(ctx context.Context, t *driver.Table) (bool, error) {
	doing := "define " + t.Name
	words := []any{"evalsha", createScript.Hash, "1", c.prefix + catalogName + t.Name, keyField, headerOf(t)}
	for _, f := range t.Fields {
		words = append(words, f.Name, f.Kind.String())
	}
	for loads := 0; ; loads++ {
		r, err := c.ask(ctx, doing, words...)
		if err == nil {
			return r.Number() == 1, nil
		}
		if wire.CodeOf(err) != "NOSCRIPT" || loads == wire.ScriptLoads {
			return false, err
		}
		if err := c.load(ctx, doing, createScript); err != nil {
			return false, err
		}
	}
}
