package backend_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

func TestViews(t *testing.T) {
	var views backend.Views[string]
	a, again, b := &driver.Table{Name: "a"}, &driver.Table{Name: "a"}, &driver.Table{Name: "b"}
	if views.Of(a) != nil || views.Of(nil) != nil {
		t.Error("something is known from the beginning")
	}
	name := func(t *driver.Table) *string { return &t.Name }
	views.Set([]*driver.Table{a, again}, name)
	views.Set([]*driver.Table{b}, name)
	for _, table := range []*driver.Table{a, again, b} {
		if v := views.Of(table); v == nil || *v != table.Name {
			t.Errorf("of %s is known %v", table.Name, v)
		}
	}
	views.Forget([]*driver.Table{{Name: "a"}})
	if views.Of(a) != nil || views.Of(again) != nil || views.Of(b) == nil {
		t.Error("not all views of a, or others too, are forgotten")
	}
}

func TestViewsWhileTheyChange(t *testing.T) {
	var views backend.Views[string]
	table := &driver.Table{Name: "a"}
	views.Set([]*driver.Table{table}, func(t *driver.Table) *string { return &t.Name })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				if views.Of(table) == nil {
					t.Error("a view is gone")
					return
				}
			}
		})
	}
	for range 100 {
		more := &driver.Table{Name: "b"}
		views.Set([]*driver.Table{more}, func(t *driver.Table) *string { return &t.Name })
		views.Forget([]*driver.Table{more})
	}
	wg.Wait()
}

func TestTables(t *testing.T) {
	col := func(name string) driver.Column { return driver.Column{Name: name, Kind: driver.String} }
	good := &driver.Table{Name: "t", Partition: []driver.Column{col("k")}, Fields: []driver.Column{col("a"), col("b")}}
	if err := backend.Validate(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []*driver.Table{
		{Name: "t", Fields: good.Fields},
		{Name: "t", Partition: good.Partition, Fields: []driver.Column{col("a"), col("b"), col("a")}},
	} {
		if err := backend.Validate(bad); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", bad, err)
		}
	}
	if !errors.Is(backend.OtherKey(good), driver.ErrSchema) || !errors.Is(backend.OtherKind(good, col("a"), "int"), driver.ErrSchema) {
		t.Error("other keys or kinds are not ErrSchema")
	}
	if !errors.Is(backend.Unknown(nil), driver.ErrInvalid) || !errors.Is(backend.Unknown(good), driver.ErrInvalid) {
		t.Error("an unknown table is not ErrInvalid")
	}
}

func TestKindOf(t *testing.T) {
	for k := driver.Bool; k <= driver.Map; k++ {
		if got, ok := backend.KindOf(k.String()); !ok || got != k {
			t.Errorf("%s is %v, %v", k, got, ok)
		}
	}
	if _, ok := backend.KindOf("none of them"); ok {
		t.Error("any name is a kind")
	}
}

// Columns can be read back, and a catalog of the future is not taken for one of now.
func TestColumns(t *testing.T) {
	cols := []driver.Column{{Name: "a", Kind: driver.Int, Desc: true}, {Name: "b", Kind: driver.Bytes}}
	back, err := backend.ParseColumns(backend.Columns(cols))
	if err != nil || !slices.Equal(back, cols) {
		t.Errorf("%v became %v, %v", cols, back, err)
	}
	if _, err := backend.ParseColumns([]backend.Column{{Name: "a", Kind: "complex"}}); !errors.Is(err, driver.ErrCorrupt) {
		t.Errorf("a kind that there is not: %v, want ErrCorrupt", err)
	}
}
