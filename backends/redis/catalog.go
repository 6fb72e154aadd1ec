package redis

import (
	"context"
	"encoding/json"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
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

// A header is what the catalog says of the key of a table, and of how its rows are written.
type header struct {
	backend.Header
	Bare bool `json:"bare,omitempty"` // a member is a key alone: the two kinds must not meet
}

func headerOf(t *driver.Table) string {
	text, err := json.Marshal(header{backend.Header{Layout: layout, Partition: backend.Columns(t.Partition), Sort: backend.Columns(t.Sort)}, t.Bare})
	if err != nil {
		return "" // strings and numbers are always JSON
	}
	return string(text)
}

// An entry is a table as the catalog has it; there is no header without one.
type entry struct {
	header string
	fields map[string]backend.Known
}

// entries reads what the catalog has of tables, by name.
func (s *Store) entries(ctx context.Context, doing string, names []string) (map[string]*entry, error) {
	list := map[string]*entry{}
	cmds := make([]*goredis.RawCmd, len(names))
	for i, name := range names {
		cmds[i] = goredis.NewRawCmd(ctx, "hgetall", s.prefix+catalogName+name)
	}
	if err := s.askAll(ctx, doing, cmds); err != nil {
		return nil, err
	}
	for i, cmd := range cmds {
		r := replyOf(cmd)
		if err := r.refused(); err != nil {
			return nil, s.failed(ctx, doing+" "+names[i], err)
		}
		e, ok := readEntry(&r)
		if !ok {
			return nil, corrupt("%s: the key %s%s%s does not describe a table", doing, s.prefix, catalogName, names[i])
		}
		list[names[i]] = e
	}
	return list, nil
}

func readEntry(r *reply) (e *entry, ok bool) {
	e = &entry{fields: map[string]backend.Known{}}
	n := r.list()
	for i := 0; i < n; i += 2 {
		name, _ := r.text()
		value, _ := r.text()
		if name == keyField {
			e.header = value
			continue
		}
		if e.fields[name], ok = backend.ParseKnown(value); !ok {
			return nil, false
		}
	}
	return e, !r.bad && (n == 0) == (e.header == "")
}

// sorted reports whether the key of the table has sort columns.
func (e *entry) sorted() bool {
	var h backend.Header
	return json.Unmarshal([]byte(e.header), &h) == nil && len(h.Sort) > 0
}

// lacks returns which fields of t an entry does not have, and what speaks against t
// beside what it has.
func (e *entry) lacks(t *driver.Table) (missing []driver.Column, err error) {
	if err := e.known(t); err != nil {
		return nil, err
	}
	if e.header != "" && e.header != headerOf(t) {
		return nil, who.Wrap(backend.OtherKey(t))
	}
	return who.Missing(e.fields, t)
}

// known refuses a table of another layout.
func (e *entry) known(t *driver.Table) error {
	var h backend.Header
	switch {
	case json.Unmarshal([]byte(e.header), &h) != nil || h.Layout == layout:
		return nil
	case h.Layout > layout:
		return who.Later(t, h.Layout, layout)
	}
	return who.Earlier(t, h.Layout, layout)
}

// createText makes the description of a table, unless there is one.
const createText = `if redis.call('HLEN', KEYS[1]) > 0 then return 0 end
for f = 1, #ARGV, 4000 do redis.call('HSET', KEYS[1], unpack(ARGV, f, math.min(f + 3999, #ARGV))) end
return 1`

// declare adds to the catalog what it lacks of tables. Where another program is
// first, its word stands.
func (s *Store) declare(ctx context.Context, tables []*driver.Table, have map[string]*entry) error {
	for _, t := range tables {
		e := have[t.Name]
		if e.header == "" {
			created, err := s.create(ctx, t)
			if err != nil {
				return err
			}
			if created {
				continue
			}
			again, err := s.entries(ctx, "define", []string{t.Name})
			if err != nil {
				return err
			}
			e = again[t.Name]
		}
		missing, err := e.lacks(t)
		if err != nil {
			return err
		}
		for _, f := range missing {
			if _, err := s.ask(ctx, "define "+t.Name, "hsetnx", s.prefix+catalogName+t.Name, f.Name, backend.Known{Kind: f.Kind, Later: true}.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// create makes the description of a table, and reports whether there was none.
func (s *Store) create(ctx context.Context, t *driver.Table) (bool, error) {
	doing := "define " + t.Name
	words := []any{"evalsha", s.creation.hash, "1", s.prefix + catalogName + t.Name, keyField, headerOf(t)}
	for _, f := range t.Fields {
		words = append(words, f.Name, f.Kind.String())
	}
	for loads := 0; ; loads++ {
		r, err := s.ask(ctx, doing, words...)
		if err == nil {
			return r.number() == 1, nil
		}
		if codeOf(err) != "NOSCRIPT" || loads == scriptLoads {
			return false, err
		}
		if _, err := s.ask(ctx, doing+": load a script", "script", "load", s.creation.text); err != nil {
			return false, err
		}
	}
}

func names(tables []*driver.Table) []string {
	var list []string
	for _, t := range tables {
		list = append(list, t.Name)
	}
	return list
}
