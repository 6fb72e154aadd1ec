package repo

import (
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A layoutC is a schema compiled against a record type: its tables, and the
// place of every field among a record's values. It does not change.
type layoutC struct {
	facts      *driver.Facts
	redact     bool // leave keys and values out of texts
	name       string
	schema     schemaDef
	records    *driver.Table
	key        []driver.Column // partition and sort columns: the first of a record's values
	cols       []driver.Column // key, then fields by ordinal
	indexes    []*index
	elems      []driver.Kind  // by position: of a list, the kind of its elements
	nanos      []bool         // by position: an integer that keeps the nanoseconds of a time
	scalars    []*structField // by position: a field that every record has which this program writes, or nil
	empties    []driver.Value // by position: what a field would be that is absent where it is empty, else none
	keySources []source       // of the key columns
	expires    bool           // this program says when records expire
	late       bool           // and the catalog is told so when the first record does: for maps, which mostly do not
	extra      bool           // records may have undeclared fields
	indexed    []bool         // by position: some index needs the field
	indexMask  []int          // ordinals of those fields
	loose      bool           // some index is
	retention  time.Duration  // how long a deleted record stays as a tombstone
}

// An index is an Index compiled: its table, and where its columns come from.
type index struct {
	indexDef
	name   string
	table  *driver.Table
	part   []source // of Table.Partition without the bucket column
	sort   []source // of Table.Sort without the record's key
	covers []int    // positions of the covered fields, in the order of Table.Fields
	all    bool     // covers the whole record
	local  bool     // shares the partition of the records
	loose  bool     // lies outside the unit of the records: see loose.go
	native bool     // kept by the store: see native.go
	multi  int      // position of the list field of which each element has a row, or -1
	needs  []int    // positions that decide the rows: part, sort and covers
}

// A source says which value an index column has.
type source struct {
	at   int // position among the values
	desc bool
	elem bool // each element of the list at that position
}

const bucketColumn = "_bucket"

const ownerColumn = "_key"

// at returns the position of a field, or -1.
func (c *layoutC) at(name string) int {
	return slices.IndexFunc(c.cols, func(col driver.Column) bool { return col.Name == name })
}

// useTables takes tables like its own in their place.
func (c *layoutC) useTables(tables []*driver.Table) {
	c.records = tables[0]
	for i, x := range c.indexes {
		x.table = tables[1+i]
	}
}

func (c *layoutC) keyNames() []string {
	names := make([]string, len(c.key))
	for i, col := range c.key {
		names[i] = col.Name
	}
	return names
}

// tables returns the tables of the collection, the records' first, but those of
// some indexes.
func (c *layoutC) tables(but []*index) []*driver.Table {
	ts := []*driver.Table{c.records}
	for _, x := range c.indexes {
		if !slices.Contains(but, x) {
			ts = append(ts, x.table)
		}
	}
	return ts
}

// indexNamed returns the index whose table has a name, or nil.
func (c *layoutC) indexNamed(table string) *index {
	i := slices.IndexFunc(c.indexes, func(x *index) bool { return x.table.Name == table })
	if i < 0 {
		return nil
	}
	return c.indexes[i]
}

func (c *layoutC) indexOf(t *driver.Table) *index {
	for _, x := range c.indexes {
		if x.table == t {
			return x
		}
	}
	return nil
}
