package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// A view is a table as one driver.Table sees it, whose ordinals are its own.
type view struct {
	name    string
	head    string // of the names of its keys, up to the partition's text
	class   driver.Class
	ordered bool // records of which a partition has several
	room    string
	ring    int    // bytes of one; room is the text of it
	ttl     string // milliseconds after which a dead record goes by itself, 0 if it does not
	bare    bool
	parts   []driver.Column // of the partition
	sort    []driver.Column
	fields  []driver.Column

	ordinals map[string]int
	dotted   []string // by ordinal: where rows have the field from before it was declared
	late     []bool   // by ordinal: there can be such rows

	others backend.Others

	inserts inserts
}

// libraryFields are names of the hash of a record that no field may have.
var libraryFields = [...]string{"_rev", "_ring", "_dead", "_expires", "_note"}

func (s *Store) newView(t *driver.Table, e *entry) *view {
	v := &view{
		name:     t.Name,
		head:     s.prefix + t.Name + ":{",
		class:    t.Class,
		ordered:  t.Class == driver.Records && len(t.Sort) > 0,
		room:     itoa(tokenSize * max(0, t.Ring)),
		ring:     tokenSize * max(0, t.Ring),
		ttl:      "0",
		bare:     t.Bare,
		parts:    slices.Clone(t.Partition),
		sort:     slices.Clone(t.Sort),
		fields:   slices.Clone(t.Fields),
		ordinals: map[string]int{},
	}
	if s.forgets && t.Retention > 0 {
		v.ttl = strconv.FormatInt(max(1, t.Retention.Milliseconds()), 10)
	}
	for i, f := range t.Fields {
		v.ordinals[f.Name] = i
		v.dotted = append(v.dotted, "."+f.Name)
		v.late = append(v.late, e.fields[f.Name].Later)
	}
	v.others.Set(maps.Clone(e.fields), t.Fields)
	return v
}

// key returns the name of the hash of a record, or of the set of rows of a
// partition.
func (v *view) key(k *driver.Key) string {
	if v.class != driver.Records {
		return v.set(k.Partition)
	}
	return v.head + k.Partition + "}" + k.Sort
}

// set returns the name of the set of a partition: of its rows, or of the order of
// its records.
func (v *view) set(partition string) string {
	if v.class != driver.Records {
		return v.head + partition + "}"
	}
	return v.head + partition + "}" + orderEnd
}

// orderEnd ends the names of the orders of records. The text of a sort column ends otherwise, so
// that no record has such a name, nor had one in a table of this name that was dropped.
const orderEnd = ":"

// order returns the name of the set that has the records that are not dead, and what it has
// of one. Records of which a partition has one at most share the set of their slot.
func (v *view) order(k *driver.Key) (set, member string) {
	if v.ordered {
		return v.set(k.Partition), k.Sort
	}
	return v.set(tags()[slotOf(k.Partition)]), k.Partition
}

// view returns what is known of t.
func (s *Store) view(t *driver.Table) (*view, error) {
	return s.views.Known(who, t)
}

// Define makes the tables exist. Another program's fields are no obstacle.
func (s *Store) Define(ctx context.Context, tables []*driver.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.schema.Lock()
	defer s.schema.Unlock()
	have, err := s.fits(ctx, "define", tables)
	if err != nil {
		return err
	}
	if lacking(tables, have) {
		if err := s.declare(ctx, tables, have); err != nil {
			return err
		}
		if have, err = s.fits(ctx, "define", tables); err != nil {
			return err
		}
	}
	s.know(tables, have)
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
	have, err := s.fits(ctx, "attach", tables)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if have[t.Name].header == "" {
			return who.NoTable("attach", t)
		}
		if missing, _ := have[t.Name].lacks(t); len(missing) > 0 {
			return who.NoField("attach", t, missing[0].Name)
		}
	}
	s.know(tables, have)
	return nil
}

// fits reads what the catalog has of tables, and says what speaks against them.
func (s *Store) fits(ctx context.Context, doing string, tables []*driver.Table) (map[string]*entry, error) {
	for _, t := range tables {
		if err := possible(t); err != nil {
			return nil, err
		}
	}
	have, err := s.entries(ctx, doing, names(tables))
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if _, err := have[t.Name].lacks(t); err != nil {
			return nil, err
		}
	}
	return have, nil
}

// possible says what this store cannot have in a table.
func possible(t *driver.Table) error {
	if err := who.Possible(t); err != nil {
		return err
	}
	for _, f := range t.Fields {
		if f.Name == "" || strings.HasPrefix(f.Name, ".") || slices.Contains(libraryFields[:], f.Name) {
			return invalid("table %s declares the field %q, which rows have for something else; take another name", t.Name, f.Name)
		}
	}
	return nil
}

func lacking(tables []*driver.Table, have map[string]*entry) bool {
	return slices.ContainsFunc(tables, func(t *driver.Table) bool {
		missing, _ := have[t.Name].lacks(t)
		return have[t.Name].header == "" || len(missing) > 0
	})
}

// know makes views of tables that the catalog has.
func (s *Store) know(tables []*driver.Table, have map[string]*entry) {
	s.views.Set(tables, func(t *driver.Table) *view { return s.newView(t, have[t.Name]) })
}

// other returns what the catalog has of a field that v does not declare. A program
// that declared it since v was made is asked for once.
func (s *Store) other(ctx context.Context, v *view, field string) (backend.Known, error) {
	k, found, err := v.others.Find(field, v.fields, func() (map[string]backend.Known, error) {
		have, err := s.entries(ctx, "read a row of "+v.name, []string{v.name})
		if err != nil {
			return nil, err
		}
		return have[v.name].fields, nil
	})
	if err == nil && !found {
		err = corrupt("a row of %s has a field %.50q that nobody declared: another program has keys under these names, or the key %s%s%s was removed, which the program that wrote the row makes anew when it starts", v.name, driver.Private(field), s.prefix, catalogName, v.name)
	}
	return k, err
}

// Drop removes the tables with all their rows, some hundreds of keys at a time.
func (s *Store) Drop(ctx context.Context, tables []*driver.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.schema.Lock()
	defer s.schema.Unlock()
	s.views.Forget(tables)
	have, err := s.entries(ctx, "drop", names(tables))
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := have[t.Name].known(t); err != nil {
			return err
		}
		v := s.newView(t, have[t.Name])
		v.ordered = have[t.Name].sorted()
		err := s.eachKey(ctx, v, func(keys []string, done []listed) error { return s.unlink(ctx, "drop "+t.Name, keys, done) })
		if err != nil {
			return err
		}
		if _, err := s.ask(ctx, "drop "+t.Name, "unlink", s.prefix+catalogName+t.Name); err != nil {
			return err
		}
	}
	return nil
}

// dropText removes listed keys, and their names from the list.
const dropText = `for i = 2, #KEYS do
  redis.call('UNLINK', KEYS[i])
  redis.call('ZREM', KEYS[1], KEYS[i])
end
return {}`

// unlink removes keys, and then those that led to them.
func (s *Store) unlink(ctx context.Context, doing string, keys []string, done []listed) error {
	cmds := make([]*goredis.RawCmd, len(keys))
	for i := range keys {
		cmds[i] = goredis.NewRawCmd(ctx, "unlink", &keys[i])
	}
	if err := s.askAll(ctx, doing, cmds); err != nil {
		return err
	}
	for _, cmd := range cmds {
		r := replyOf(cmd)
		if err := r.refused(); err != nil {
			return s.failed(ctx, doing, err)
		}
	}
	for len(done) > 0 {
		list := done[0].list
		words := []string{s.list(list)}
		for ; len(done) > 0 && done[0].list == list; done = done[1:] {
			words = append(words, done[0].name)
		}
		_, err := s.eval(ctx, s.drop, words, nil)
		for tries := 1; tries < readTries && errors.Is(err, driver.ErrUnknownOutcome) && ended(ctx) == nil; tries++ {
			_, err = s.eval(ctx, s.drop, words, nil)
		}
		if err != nil {
			return fmt.Errorf("redis: %s: %w", doing, err)
		}
	}
	return nil
}
