package layout

import (
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/record"
)

// A Layout is a schema compiled against a record type: its tables, and the
// place of every field among a record's values. It does not change.
type Layout struct {
	Facts      *driver.Facts
	Redact     bool // leave keys and values out of texts
	Name       string
	schema     Schema
	Records    *driver.Table
	Key        []driver.Column // partition and sort columns: the first of a record's values
	Cols       []driver.Column // key, then fields by ordinal
	Indexes    []*Index
	Absent     []*Index        // that the schema declares, and the catalog has not
	Unsettled  []*Index        // unique ones with the records that are not ready: who has a value is to be looked up
	Elems      []driver.Kind   // by position: of a list, the kind of its elements
	Nanos      []bool          // by position: an integer that keeps the nanoseconds of a time
	Fields     []*record.Field // by position: of a struct, else nil
	Parts      map[string]Kind // of fields, by their paths, whose kinds the schema declares
	fits       [][]namedKind   // by position, nil if there are none: see Fit
	Scalars    []*record.Field // by position: a field that every record has which this program writes, or nil
	Empties    []driver.Value  // by position: what a field would be that is absent where it is empty, else none
	KeySources []Source        // of the key columns
	Expires    bool            // this program says when records expire
	Late       bool            // and the catalog is told so when the first record does: for maps, which mostly do not
	Extra      bool            // records may have undeclared fields
	hidden     []bool          // by position: another program's field, which an index of it needs
	Indexed    []bool          // by position: some index needs the field
	IndexMask  []int           // ordinals of those fields
	HasRemote  bool            // some index is
	Retention  time.Duration   // how long a deleted record stays as a tombstone
}

// An Index is an Index compiled: its table, and where its columns come from.
type Index struct {
	IndexSchema
	Stored
	ID            string
	Table         *driver.Table
	PartitionFrom []Source // of Table.Partition without the bucket column
	SortFrom      []Source // of Table.Sort without the record's key
	CoverAt       []int    // positions of the covered fields, in the order of Table.Fields
	All           bool     // covers the whole record
	Derived       bool     // the type of the records derives fields
	Other         bool     // of another program: it is kept in step, and answers nothing
	local         bool     // shares the partition of the records
	Remote        bool     // lies outside the commit scope of the records: see remote.go
	Native        bool     // kept by the store: see native.go
	Multi         int      // position of the field with the list of which each element has a row, or -1
	list          Source   // that list
	Needs         []int    // positions that decide the rows: part, sort and covers
}

// A Source says which value an index column has.
type Source struct {
	At   int      // position among the values
	Path []string // to a part of the value there, nil for the whole
	Desc bool
	Elem bool // each element of the list at that position
}

const bucketColumn = "_bucket"

const ownerColumn = "_key"

// At returns the position of a field, or -1.
func (c *Layout) At(name string) int {
	return slices.IndexFunc(c.Cols, func(col driver.Column) bool { return col.Name == name })
}

// IsHidden reports whether the field at a position is there only for an index of another program.
func (c *Layout) IsHidden(at int) bool { return c.hidden != nil && c.hidden[at] }

// IsOfCatalog reports whether it has the indexes that the catalog had, and not just those that the schema declares.
func (c *Layout) IsOfCatalog() bool { return c.schema.Stored != nil }

// KeepHidden leaves the fields of other programs in a record as they are.
func (c *Layout) KeepHidden(vals, old []driver.Value) {
	for at := range c.hidden {
		if c.hidden[at] {
			vals[at] = old[at]
		}
	}
}

// With returns the name of the collection with which the records lie, or "".
func (c *Layout) With() string { return c.schema.With }

// UseTables takes tables like its own in their place.
func (c *Layout) UseTables(tables []*driver.Table) {
	c.Records = tables[0]
	for i, x := range c.Indexes {
		x.Table = tables[1+i]
	}
}

func (c *Layout) keyNames() []string {
	names := make([]string, len(c.Key))
	for i, col := range c.Key {
		names[i] = col.Name
	}
	return names
}

// Tables returns the tables of the collection, the records' first, but those of
// some indexes.
func (c *Layout) Tables(but []*Index) []*driver.Table {
	ts := []*driver.Table{c.Records}
	for _, x := range c.Indexes {
		if !slices.Contains(but, x) {
			ts = append(ts, x.Table)
		}
	}
	return ts
}

// IndexNamed returns the index whose table has a name, or nil.
func (c *Layout) IndexNamed(table string) *Index {
	i := slices.IndexFunc(c.Indexes, func(x *Index) bool { return x.Table.Name == table })
	if i < 0 {
		return nil
	}
	return c.Indexes[i]
}

// IndexOf returns the index whose rows are in a table, or nil.
func (c *Layout) IndexOf(t *driver.Table) *Index {
	for _, x := range c.Indexes {
		if x.Table == t {
			return x
		}
	}
	return nil
}
