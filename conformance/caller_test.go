package conformance

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/spi"
	"github.com/polystore/polystore/repo/driver"
)

// A caller is a store that sees whether package repo keeps its own side of the
// contract, in all that the rules let it do.
type caller struct {
	*memory.Store

	mu    sync.Mutex
	known map[*driver.Table]bool
	sent  map[driver.Token]string
	wrong map[string]bool
}

var collectionTable = regexp.MustCompile(`^cf[0-9a-f]{8}_`)

// fault notes what is wrong with a call about a table of a collection.
func (c *caller) fault(t *driver.Table, format string, args ...any) {
	if collectionTable.MatchString(t.Name) {
		c.wrong[fmt.Sprintf(format, args...)] = true
	}
}

func (c *caller) learn(tables []*driver.Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range tables {
		c.known[t] = true
	}
}

func (c *caller) Define(ctx context.Context, tables []*driver.Table) error {
	c.learn(tables)
	return c.Store.Define(ctx, tables)
}

func (c *caller) Attach(ctx context.Context, tables []*driver.Table) error {
	c.learn(tables)
	return c.Store.Attach(ctx, tables)
}

// key checks that the texts of a key are those of values of its columns: all of
// them, or those of the partition.
func (c *caller) key(what string, t *driver.Table, k driver.Key, whole bool) {
	if !c.known[t] {
		c.fault(t, "%s: table %s by a pointer that was never defined or attached", what, t.Class)
	}
	if _, rest, err := driver.ParseParts(nil, k.Partition, t.Partition); err != nil || rest != "" {
		c.fault(t, "%s: partition %q of a table of %s is no text of its columns", what, k.Partition, t.Class)
	}
	if !whole || what == "commit" && strings.HasSuffix(k.Sort, spi.OddEnd) { // which a rule has made itself
		return
	}
	if _, rest, err := driver.ParseParts(nil, k.Sort, t.Sort); err != nil || rest != "" {
		c.fault(t, "%s: order %q of a table of %s is no text of its columns", what, k.Sort, t.Class)
	}
}

func (c *caller) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	c.mu.Lock()
	for _, k := range keys {
		c.key("get", t, k, true)
	}
	c.mu.Unlock()
	return c.Store.Get(ctx, t, keys, mask, rows)
}

func (c *caller) Range(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
	c.mu.Lock()
	c.key("range", s.Table, s.Key, false)
	c.mu.Unlock()
	return c.Store.Range(ctx, s)
}

func (c *caller) Count(ctx context.Context, s driver.Span) (int, error) {
	c.mu.Lock()
	c.key("count", s.Table, s.Key, false)
	c.mu.Unlock()
	return c.Store.Count(ctx, s)
}

func (c *caller) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	c.mu.Lock()
	named := map[string]bool{}
	for i := range ops {
		op := &ops[i]
		c.key("commit", op.Table, op.Row.Key, true)
		name := op.Table.Name + "\x00" + op.Row.Key.Partition + "\x00" + op.Row.Key.Sort
		if named[name] {
			c.fault(op.Table, "commit: a key of a table of %s is named twice", op.Table.Class)
		}
		named[name] = true
		c.op(op)
	}
	if len(ops) == 0 {
		c.wrong["commit without ops"] = true
	} else if text := fmt.Sprint(len(ops), ops[0].Do, ops[0].Row.Key.Partition, ops[0].Row.Key.Sort); c.sent[token] != "" && c.sent[token] != text {
		c.fault(ops[0].Table, "commit: a token is used for two commits")
	} else {
		c.sent[token] = text
	}
	c.mu.Unlock()
	return c.Store.Commit(ctx, token, ops)
}

func (c *caller) op(op *driver.Op) {
	t := op.Table
	switch {
	case op.Do == driver.Patch && op.If != driver.Present && op.If != driver.AtRev:
		c.fault(t, "commit: patch if %s", op.If)
	case op.Row.Dead && t.Ring == 0:
		c.fault(t, "commit: a tombstone in a table without a ring")
	case len(op.Row.Fields) > len(t.Fields):
		c.fault(t, "commit: %d fields for a table of %s with %d", len(op.Row.Fields), t.Class, len(t.Fields))
	case !slices.IsSortedFunc(op.Row.Extra, func(p, q driver.Pair) int { return byName(p.Name, q.Name) }):
		c.fault(t, "commit: undeclared fields that are not ascending")
	}
	for i, v := range op.Row.Fields {
		if i < len(t.Fields) && !v.IsNone() && v.Kind() != t.Fields[i].Kind {
			c.fault(t, "commit: a %s in the %s field %s", v.Kind(), t.Fields[i].Kind, t.Fields[i].Name)
		}
	}
	for _, e := range op.Edits {
		switch {
		case e.Do == driver.Add && e.Value.Kind() != driver.Int:
			c.fault(t, "commit: Add of a %s", e.Value.Kind())
		case e.Do == driver.Set && e.Field >= 0 && !e.Value.IsNone() && e.Value.Kind() != t.Fields[e.Field].Kind:
			c.fault(t, "commit: an edit sets a %s in the %s field %s", e.Value.Kind(), t.Fields[e.Field].Kind, t.Fields[e.Field].Name)
		}
	}
}

func byName(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func newCaller() *caller {
	return &caller{Store: memory.New(nil), known: map[*driver.Table]bool{}, sent: map[driver.Token]string{}, wrong: map[string]bool{}}
}

// Package repo asks a store for nothing that its contract does not allow.
func TestCaller(t *testing.T) {
	c := newCaller()
	report, err := Check(t.Context(), func(context.Context) (driver.Store, error) { return c, nil }, Options{Ops: 2000, Histories: 6})
	if err != nil {
		t.Fatal(err)
	}
	if report.Passed < 200 {
		t.Errorf("only %d rules passed, so little was seen", report.Passed)
	}
	for text := range c.wrong {
		t.Error(text)
	}
}

// The caller's faults are seen.
func TestCallerIsWatched(t *testing.T) {
	c := newCaller()
	name := "cf00000000_t"
	table := &driver.Table{Name: name, Partition: []driver.Column{{Name: "p", Kind: driver.String}}, Fields: []driver.Column{{Name: "n", Kind: driver.Int}}}
	if err := c.Define(t.Context(), []*driver.Table{table}); err != nil {
		t.Fatal(err)
	}
	key := driver.Key{Partition: "a#", Sort: "too much#"}
	twice := driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: key, Dead: true, Fields: []driver.Value{driver.StringValue("x"), driver.StringValue("y")}}}
	c.Commit(t.Context(), driver.NewToken(), []driver.Op{twice, twice, {Do: driver.Patch, Table: table, Row: driver.Row{Key: driver.Key{Partition: "a"}}, Edits: []driver.Edit{{Do: driver.Add, Value: driver.IntValue(1)}}}})
	if err := c.Get(t.Context(), table, []driver.Key{key}, nil, make([]driver.Row, 1)); err != nil {
		t.Fatal(err)
	}
	if len(c.wrong) < 6 {
		t.Errorf("seen: %v; want at least six faults", c.wrong)
	}
}
