package backend_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

func TestHeaders(t *testing.T) {
	table := &driver.Table{Name: "t", Partition: []driver.Column{{Name: "a", Kind: driver.String}}, Fields: []driver.Column{{Name: "x", Kind: driver.Int}}}
	if got, want := backend.HeaderOf(0, table), `{"partition":[{"name":"a","kind":"string"}]}`; got != want {
		t.Errorf("the header is %s, want %s", got, want)
	}
	table.Sort = []driver.Column{{Name: "b", Kind: driver.Int, Desc: true}}
	if got, want := backend.HeaderOf(1, table), `{"layout":1,"partition":[{"name":"a","kind":"string"}],"sort":[{"name":"b","kind":"int","desc":true}]}`; got != want {
		t.Errorf("the header is %s, want %s", got, want)
	}
}

func TestKnown(t *testing.T) {
	for _, k := range []backend.Known{{Kind: driver.Int}, {Kind: driver.List, Later: true}} {
		if got, ok := backend.ParseKnown(k.String()); got != k || !ok {
			t.Errorf("%s reads back as %s, %v", k, got, ok)
		}
	}
	for _, text := range []string{"", "later", " later", "complex", "int later later"} {
		if k, ok := backend.ParseKnown(text); ok {
			t.Errorf("%q is a field: %s", text, k)
		}
	}
}

func TestMissing(t *testing.T) {
	table := &driver.Table{Name: "t", Fields: []driver.Column{{Name: "a", Kind: driver.Int}, {Name: "b", Kind: driver.Int}}}
	missing, err := who.Missing(map[string]backend.Known{"a": {Kind: driver.Int, Later: true}, "c": {Kind: driver.Bool}}, table)
	if err != nil || !slices.Equal(missing, table.Fields[1:]) {
		t.Errorf("%v, %v is missing, want b", missing, err)
	}
	if _, err := who.Missing(map[string]backend.Known{"b": {Kind: driver.String}}, table); !errors.Is(err, driver.ErrSchema) {
		t.Errorf("a field of another kind: %v, want ErrSchema", err)
	}
}

// A field that nobody knew is asked for, and known from then on, with all others.
func TestOthers(t *testing.T) {
	var o backend.Others
	fields := []driver.Column{{Name: "mine", Kind: driver.Int}}
	catalog := map[string]backend.Known{"mine": {Kind: driver.Int}, "theirs": {Kind: driver.Bool}, "too": {Kind: driver.Time}}
	asked := 0
	ask := func() (map[string]backend.Known, error) {
		asked++
		return catalog, nil
	}
	if _, ok := o.Of("theirs"); ok {
		t.Error("something is known from the beginning")
	}
	if _, found, err := o.Find("nobody's", fields, ask); found || err != nil {
		t.Errorf("a field that there is not: %v, %v", found, err)
	}
	for _, name := range []string{"theirs", "too", "theirs"} {
		if k, found, err := o.Find(name, fields, ask); !found || err != nil || k != catalog[name] {
			t.Errorf("%s is %v, %v, %v", name, k, found, err)
		}
	}
	if _, ok := o.Of("mine"); ok || asked != 2 {
		t.Errorf("the view's own field is another's: %v; %d questions, want 2", ok, asked)
	}
	if _, _, err := o.Find("new", fields, func() (map[string]backend.Known, error) { return nil, io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("where nobody answers: %v, want EOF", err)
	}
}

func TestPossible(t *testing.T) {
	table := &driver.Table{Name: "t", Partition: []driver.Column{{Name: "k", Kind: driver.String}}}
	var views backend.Views[string]
	views.Set([]*driver.Table{table}, func(t *driver.Table) *string { return &t.Name })
	if err := who.Possible(table); err != nil {
		t.Error(err)
	}
	if err := who.Possible(&driver.Table{Name: "t", Partition: table.Partition, Native: true}); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("a native index: %v, want ErrUnsupported", err)
	}
	if err := who.Possible(&driver.Table{Name: "t"}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("no key: %v, want ErrInvalid", err)
	}
	if v, err := views.Checked(who, table, nil); err != nil || *v != "t" {
		t.Errorf("a known table: %v, %v", v, err)
	}
	if _, err := views.Checked(who, table, []int{0}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a mask of fields that there are not: %v, want ErrInvalid", err)
	}
	if _, err := views.Known(who, &driver.Table{Name: "t"}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("an unknown table: %v, want ErrInvalid", err)
	}
}
