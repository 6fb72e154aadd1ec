package table

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/repo/driver"
)

// A Set has the tables of a run. The first partition column of each is the tag of the rule.
type Set struct {
	Sorted  *driver.Table // records in the order of a text
	Plain   *driver.Table // records without order
	Typed   *driver.Table // a partition column of every kind
	Asc     *driver.Table // a sort column of every kind
	Desc    *driver.Table // the same, greater values first
	Ringed  *driver.Table // records that keep tokens
	Local   *driver.Table // index rows that lie with the records of Sorted
	KeyOnly *driver.Table // index rows that are keys, with the records of Ringed
	Claims  *driver.Table // of a unique index, elsewhere
}

// RingSize is how many tokens a record of Ringed keeps.
const RingSize = 4

// New returns the tables of a run.
func New(id string) Set {
	scope, p, s := driver.Column{Name: "scope", Kind: driver.String}, driver.Column{Name: "p", Kind: driver.String}, driver.Column{Name: "s", Kind: driver.String}
	both := []driver.Column{scope, p}
	t := Set{
		Sorted: &driver.Table{Name: id + ".sorted", Partition: both, Sort: []driver.Column{s}, Fields: Fields()},
		Plain:  &driver.Table{Name: id + ".plain", Partition: both, Fields: Fields()},
		Typed:  &driver.Table{Name: id + ".typed", Partition: append([]driver.Column{scope}, keys(false)...), Fields: Fields()},
		Asc:    &driver.Table{Name: id + ".asc", Partition: both, Sort: keys(false), Fields: Fields()},
		Desc:   &driver.Table{Name: id + ".desc", Partition: both, Sort: keys(true), Fields: Fields()},
		Ringed: &driver.Table{Name: id + ".ringed", Partition: both, Sort: []driver.Column{s}, Fields: Fields(), Ring: RingSize},
	}
	v := driver.Column{Name: "v", Kind: driver.String}
	t.Local = &driver.Table{Name: id + ".sorted.local", Class: driver.Rows, Partition: both, Sort: []driver.Column{v, s}, Fields: Fields(), Home: t.Sorted}
	t.KeyOnly = &driver.Table{Name: id + ".ringed.bare", Class: driver.Rows, Partition: both, Sort: []driver.Column{v, s}, Home: t.Ringed, KeyOnly: true}
	t.Claims = &driver.Table{Name: id + ".sorted.claims", Class: driver.Claims, Partition: []driver.Column{scope, v}, Fields: Fields()}
	return t
}

// All returns the tables that a store with these facts can have.
func (t *Set) All(f driver.Facts) []*driver.Table {
	list := []*driver.Table{t.Sorted, t.Plain, t.Typed, t.Asc, t.Desc, t.Ringed}
	if f.Scope >= driver.ScopePartition {
		list = append(list, t.Local, t.KeyOnly)
	}
	if f.Scope >= driver.ScopeStore {
		list = append(list, t.Claims)
	}
	return list
}

// Named returns a table like Sorted with a name of its own.
func Named(name string) *driver.Table {
	t := New("").Sorted
	t.Name = name
	return t
}

// The ordinals of the fields of every table.
const (
	Bool = iota
	Int
	Float
	String
	Bytes
	Time
	List
	Map
)

// Fields returns a column of every kind.
func Fields() []driver.Column {
	var cols []driver.Column
	for k := driver.Bool; k <= driver.Map; k++ {
		cols = append(cols, driver.Column{Name: "f_" + k.String(), Kind: k})
	}
	return cols
}

// keys returns a column of every kind that a key may have.
func keys(desc bool) []driver.Column {
	var cols []driver.Column
	for k := driver.Bool; k <= driver.Time; k++ {
		cols = append(cols, driver.Column{Name: "k_" + k.String(), Kind: k, Desc: desc})
	}
	return cols
}

// MostRows is more than any rule reads in one loop: a store that yields more begins anew, say,
// and would use up the memory.
const MostRows = 50_000

// Rows reads the rows of a span.
func Rows(ctx context.Context, store driver.Store, sp driver.Span) ([]driver.Row, error) {
	var rows []driver.Row
	for r, err := range store.Range(ctx, sp) {
		if err != nil {
			return rows, err
		}
		if rows = append(rows, double.CopyRow(r)); len(rows) > MostRows {
			return nil, fmt.Errorf("more than %d rows, which nobody wrote: the range does not end", MostRows)
		}
	}
	return rows, nil
}
