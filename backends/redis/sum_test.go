package redis_test

import (
	"math"
	"testing"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// A counter is one field of a record, as one program sees it.
type counter struct {
	s     *redis.Store
	table *driver.Table
	key   driver.Key
}

// edit changes the field likes, and refusal says whether the store refused to.
func (c *counter) edit(t *testing.T, do driver.EditVerb, value driver.Value) (refusal *driver.Refusal) {
	t.Helper()
	e := driver.Edit{Do: do, Field: -1, Name: "likes", Value: value}
	for i, f := range c.table.Fields {
		if f.Name == e.Name {
			e.Field = i
		}
	}
	refusal, err := c.s.Commit(t.Context(), driver.NewToken(), []driver.Op{{Do: driver.Patch, If: driver.Present, Table: c.table,
		Row: driver.Row{Key: c.key}, Edits: []driver.Edit{e}}})
	if err != nil {
		t.Fatal(err)
	}
	return refusal
}

func (c *counter) value(t *testing.T) driver.Value {
	t.Helper()
	var rows [1]driver.Row
	if err := c.s.Get(t.Context(), c.table, []driver.Key{c.key}, nil, rows[:]); err != nil {
		t.Fatal(err)
	}
	for i, f := range c.table.Fields {
		if f.Name == "likes" {
			return rows[0].Fields[i]
		}
	}
	for _, p := range rows[0].Extra {
		if p.Name == "likes" {
			return p.Value
		}
	}
	return driver.Value{}
}

// counters returns one record as three programs see it: one that was there before the
// field was declared, the one that declares it, and one that does not and came after.
func counters(t *testing.T, kind driver.Kind, before driver.Value) (old, declares, late *counter) {
	t.Helper()
	server, s, ts := own(t)
	key := backendtest.KeyOf(t, ts.Posts, "ann", "1")
	backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Put, Table: ts.Posts, Row: driver.Row{Key: key, Extra: []driver.Pair{{Name: "likes", Value: before}}}}})
	newer, _ := open(t, server.URL)
	wide := *ts.Posts
	wide.Fields = append([]driver.Column{{Name: "likes", Kind: kind}}, wide.Fields...)
	if err := newer.Define(t.Context(), []*driver.Table{&wide}); err != nil {
		t.Fatal(err)
	}
	third, more := open(t, server.URL)
	return &counter{s, ts.Posts, key}, &counter{newer, &wide, key}, &counter{third, more.Posts, key}
}

// No addition is lost when one program declares a field that another one adds to
// without.
func TestSumsOfSeveralPrograms(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]int{"declared last": {0, 2, 1, 0, 2}, "declared first": {1, 0, 2, 1, 0}, "declared in the middle": {2, 1, 0, 2, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, declares, late := counters(t, driver.Int, driver.IntValue(5))
			all := []*counter{old, declares, late}
			for i, n := range order {
				if refusal := all[n].edit(t, driver.Add, driver.IntValue(1)); refusal != nil {
					t.Fatalf("addition %d: %+v", i, refusal)
				}
				for k, c := range all {
					if got := c.value(t); !got.Equal(driver.IntValue(int64(6 + i))) {
						t.Fatalf("after addition %d to 5, by program %d, program %d reads %v", i+1, n, k, got)
					}
				}
			}
		})
	}
}

// An addition to what another program declares as text is refused, as one to text is.
func TestSumsOfText(t *testing.T) {
	t.Parallel()
	old, declares, late := counters(t, driver.String, driver.StringValue("many"))
	declares.edit(t, driver.Set, driver.StringValue("more"))
	for what, c := range map[string]*counter{"one that was there before": old, "one that came after": late} {
		if refusal := c.edit(t, driver.Add, driver.IntValue(1)); refusal == nil || !refusal.Overflow || refusal.Edit != 0 {
			t.Errorf("addition to text by %s: %+v, want an overflow", what, refusal)
		}
		if got := c.value(t); !got.Equal(driver.StringValue("more")) {
			t.Errorf("after it %s reads %v", what, got)
		}
	}
}

// A sum that is refused is not tried again because another one, of the same record, was
// made by reading before.
func TestSumBesideOneThatIsRead(t *testing.T) {
	t.Parallel()
	_, declares, _ := counters(t, driver.Int, driver.IntValue(5))
	c := declares
	backendtest.MustCommit(t, c.s, []driver.Op{{Do: driver.Patch, If: driver.Present, Table: c.table, Row: driver.Row{Key: c.key},
		Edits: []driver.Edit{{Do: driver.Set, Field: 1 + backendtest.FieldViews, Value: driver.IntValue(math.MaxInt64)}}}})
	one := driver.IntValue(1)
	refusal, err := c.s.Commit(t.Context(), driver.NewToken(), []driver.Op{{Do: driver.Patch, If: driver.Present, Table: c.table, Row: driver.Row{Key: c.key},
		Edits: []driver.Edit{{Do: driver.Add, Value: one}, {Do: driver.Add, Field: 1 + backendtest.FieldViews, Value: one}}}})
	if err != nil || refusal == nil || !refusal.Overflow || refusal.Edit != 1 {
		t.Errorf("a sum over int64 beside one that is read: refusal %+v, %v; want one for edit 1", refusal, err)
	}
	if got := c.value(t); !got.Equal(driver.IntValue(5)) {
		t.Errorf("the other field is %v after the refusal, and was 5", got)
	}
}
