package frame

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

func TestHeaders(t *testing.T) {
	table := &driver.Table{Name: "t", Partition: []driver.Column{{Name: "a", Kind: driver.String}}, Fields: []driver.Column{{Name: "x", Kind: driver.Int}}}
	if got, want := NewHeader(0, table).String(), `{"partition":[{"name":"a","kind":"string"}]}`; got != want {
		t.Errorf("the header is %s, want %s", got, want)
	}
	table.Sort = []driver.Column{{Name: "b", Kind: driver.Int, Desc: true}}
	if got, want := NewHeader(1, table).String(), `{"layout":1,"partition":[{"name":"a","kind":"string"}],"sort":[{"name":"b","kind":"int","desc":true}]}`; got != want {
		t.Errorf("the header is %s, want %s", got, want)
	}
}

func TestHeaderReadsBack(t *testing.T) {
	table := &driver.Table{Name: "t", Partition: []driver.Column{{Name: "a", Kind: driver.String}}}
	h := NewHeader(1, table)
	h.KeyOnly, h.Of = true, "posts"
	if got, ok := ParseHeader(h.String()); !ok || got.String() != h.String() || got.Of != "posts" {
		t.Errorf("%s reads back as %s, %v", h, got, ok)
	}
	if h, ok := ParseHeader("{"); ok {
		t.Errorf("what is no JSON is a header: %s", h)
	}
}

func TestKnown(t *testing.T) {
	for _, k := range []Known{{Kind: driver.Int}, {Kind: driver.List, Later: true}} {
		if got, ok := ParseKnown(k.String()); got != k || !ok {
			t.Errorf("%s reads back as %s, %v", k, got, ok)
		}
	}
	for _, text := range []string{"", "later", " later", "complex", "int later later"} {
		if k, ok := ParseKnown(text); ok {
			t.Errorf("%q is a field: %s", text, k)
		}
	}
}

func TestMissing(t *testing.T) {
	table := &driver.Table{Name: "t", Fields: []driver.Column{{Name: "a", Kind: driver.Int}, {Name: "b", Kind: driver.Int}}}
	missing, err := (&Entry{"key", 1, map[string]Known{"a": {Kind: driver.Int, Later: true}, "c": {Kind: driver.Bool}}}).Missing(who, table, "key", 1)
	if err != nil || !slices.Equal(missing, table.Fields[1:]) {
		t.Errorf("%v, %v is missing, want b", missing, err)
	}
	for what, e := range map[string]Entry{
		"a field of another kind": {"key", 1, map[string]Known{"b": {Kind: driver.String}}},
		"another key":             {"other", 1, nil},
		"a later layout":          {"key", 2, nil},
	} {
		if _, err := e.Missing(who, table, "key", 1); !errors.Is(err, driver.ErrSchema) {
			t.Errorf("%s: %v, want ErrSchema", what, err)
		}
	}
	none := NewEntry()
	if missing, err := none.Missing(who, table, "key", 1); err != nil || len(missing) != 2 || !errors.Is(none.Absent(who, "attach", table, missing), driver.ErrSchema) {
		t.Errorf("of a table that is not there is missing %v, %v", missing, err)
	}
}

// A field that nobody knew is asked for, and known from then on, with all others.
func TestOthers(t *testing.T) {
	var o Others
	fields := []driver.Column{{Name: "mine", Kind: driver.Int}}
	catalog := map[string]Known{"mine": {Kind: driver.Int}, "theirs": {Kind: driver.Bool}, "too": {Kind: driver.Time}}
	asked := 0
	ask := func() (map[string]Known, error) {
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
	if _, _, err := o.Find("new", fields, func() (map[string]Known, error) { return nil, io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("where nobody answers: %v, want EOF", err)
	}
}
