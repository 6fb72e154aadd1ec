package frame

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

func TestViews(t *testing.T) {
	var views views[string]
	a, again, b := &driver.Table{Name: "a"}, &driver.Table{Name: "a"}, &driver.Table{Name: "b"}
	if views.of(a) != nil || views.of(nil) != nil {
		t.Error("something is known from the beginning")
	}
	name := func(t *driver.Table) *string { return &t.Name }
	views.set([]*driver.Table{a, again}, name)
	views.set([]*driver.Table{b}, name)
	for _, table := range []*driver.Table{a, again, b} {
		if v := views.of(table); v == nil || *v != table.Name {
			t.Errorf("of %s is known %v", table.Name, v)
		}
	}
	views.forget([]*driver.Table{{Name: "a"}})
	if views.of(a) != nil || views.of(again) != nil || views.of(b) == nil {
		t.Error("not all views of a, or others too, are forgotten")
	}
}

func TestViewsWhileTheyChange(t *testing.T) {
	var views views[string]
	table := &driver.Table{Name: "a"}
	views.set([]*driver.Table{table}, func(t *driver.Table) *string { return &t.Name })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				if views.of(table) == nil {
					t.Error("a view is gone")
					return
				}
			}
		})
	}
	for range 100 {
		more := &driver.Table{Name: "b"}
		views.set([]*driver.Table{more}, func(t *driver.Table) *string { return &t.Name })
		views.forget([]*driver.Table{more})
	}
	wg.Wait()
}

func TestTables(t *testing.T) {
	col := func(name string) driver.Column { return driver.Column{Name: name, Kind: driver.String} }
	good := &driver.Table{Name: "t", Partition: []driver.Column{col("k")}, Fields: []driver.Column{col("a"), col("b")}}
	if err := Validate(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []*driver.Table{
		{Name: "t", Fields: good.Fields},
		{Name: "t", Partition: good.Partition, Fields: []driver.Column{col("a"), col("b"), col("a")}},
	} {
		if err := Validate(bad); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", bad, err)
		}
	}
	if !errors.Is(OtherKey(good), driver.ErrSchema) || !errors.Is(OtherKind(good, col("a"), "int"), driver.ErrSchema) {
		t.Error("other keys or kinds are not ErrSchema")
	}
	if !errors.Is(unknown(nil), driver.ErrInvalid) || !errors.Is(unknown(good), driver.ErrInvalid) {
		t.Error("an unknown table is not ErrInvalid")
	}
}

func TestKindOf(t *testing.T) {
	for k := driver.Bool; k <= driver.Map; k++ {
		if got, ok := KindOf(k.String()); !ok || got != k {
			t.Errorf("%s is %v, %v", k, got, ok)
		}
	}
	if _, ok := KindOf("none of them"); ok {
		t.Error("any name is a kind")
	}
}

// Columns can be read back, and a catalog of the future is not taken for one of now.
func TestColumns(t *testing.T) {
	cols := []driver.Column{{Name: "a", Kind: driver.Int, Desc: true}, {Name: "b", Kind: driver.Bytes}}
	back, err := ParseColumns(Columns(cols))
	if err != nil || !slices.Equal(back, cols) {
		t.Errorf("%v became %v, %v", cols, back, err)
	}
	if _, err := ParseColumns([]Column{{Name: "a", Kind: "complex"}}); !errors.Is(err, driver.ErrCorrupt) {
		t.Errorf("a kind that there is not: %v, want ErrCorrupt", err)
	}
}
