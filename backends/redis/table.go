package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A view is a table as one driver.Table sees it.
type view struct {
	*frame.Table
	head    string // of the names of its keys, up to the partition's text
	ordered bool   // records of which a partition has several
	room    string
	ring    int      // bytes of one; room is the text of it
	ttl     string   // milliseconds after which a dead record goes by itself, 0 if it does not
	dotted  []string // by ordinal: where rows have the field from before it was declared
	inserts inserts
}

// libraryFields are names of the hash of a record that no field may have.
var libraryFields = [...]string{"_rev", "_ring", "_dead", "_expires", "_note"}

func (s *store) newView(t *driver.Table, e *frame.Entry) *view {
	v := &view{
		Table:   frame.NewTable(t, e.Fields),
		head:    s.prefix + t.Name + ":{",
		ordered: t.Class == driver.Records && len(t.Sort) > 0,
		ttl:     "0",
	}
	v.ring = tokenSize * v.Ring
	v.room = itoa(v.ring)
	if s.forgets && t.Retention > 0 {
		v.ttl = strconv.FormatInt(max(1, t.Retention.Milliseconds()), 10)
	}
	for _, f := range v.Fields {
		v.dotted = append(v.dotted, "."+f.Name)
	}
	return v
}

// key returns the name of the hash of a record, or of the set of rows of a
// partition.
func (v *view) key(k *driver.Key) string {
	if v.Class != driver.Records {
		return v.set(k.Partition)
	}
	return v.head + k.Partition + "}" + k.Sort
}

// set returns the name of the set of a partition: of its rows, or of the order of
// its records.
func (v *view) set(partition string) string {
	if v.Class != driver.Records {
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
	return v.set(wire.Tags()[wire.SlotOf(k.Partition)]), k.Partition
}

// possible says what this store cannot have in a table.
func possible(t *driver.Table) error {
	for _, f := range t.Fields {
		if f.Name == "" || strings.HasPrefix(f.Name, ".") || slices.Contains(libraryFields[:], f.Name) {
			return who.Invalid("table %s declares the field %q, which rows have for something else; take another name", t.Name, f.Name)
		}
	}
	return nil
}

// other returns what the catalog has of a field that v does not declare. A program
// that declared it since v was made is asked for once.
func (s *store) other(ctx context.Context, v *view, field string) (frame.Known, error) {
	k, found, err := v.Others.Find(field, v.Fields, func() (map[string]frame.Known, error) {
		have, err := s.entries(ctx, "read a row of "+v.Name, []string{v.Name})
		if err != nil {
			return nil, err
		}
		return have[v.Name].Fields, nil
	})
	if err == nil && !found {
		err = who.Corrupt("a row of %s has a field %.50q that nobody declared: another program has keys under these names, or the key %s%s%s was removed, which the program that wrote the row makes anew when it starts", v.Name, driver.Private(field), s.prefix, catalogName, v.Name)
	}
	return k, err
}

// Drop removes the tables with all their rows, some hundreds of keys at a time.
func (s *store) Drop(ctx context.Context, tables []*driver.Table) error {
	have, err := s.entries(ctx, "drop", names(tables))
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := known(have[t.Name], t); err != nil {
			return err
		}
		v := s.newView(t, have[t.Name])
		h, _ := headerIn(have[t.Name])
		v.ordered = len(h.Sort) > 0
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
func (s *store) unlink(ctx context.Context, doing string, keys []string, done []listed) error {
	cmds := make([]*goredis.RawCmd, len(keys))
	for i := range keys {
		cmds[i] = goredis.NewRawCmd(ctx, "unlink", &keys[i])
	}
	if err := s.askAll(ctx, doing, cmds); err != nil {
		return err
	}
	for _, cmd := range cmds {
		r := wire.ReplyOf(cmd)
		if err := r.Refused(); err != nil {
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
		for tries := 1; tries < wire.ReadTries && errors.Is(err, driver.ErrUnknownOutcome) && who.Over(ctx) == nil; tries++ {
			_, err = s.eval(ctx, s.drop, words, nil)
		}
		if err != nil {
			return fmt.Errorf("redis: %s: %w", doing, err)
		}
	}
	return nil
}
