package driver

import "time"

// A Class says what the rows of a table stand for.
type Class uint8

// The classes of tables.
const (
	Records Class = iota // one row a record, keyed by the record's own key
	Rows                 // one row for each entry of an index; Sort ends with the record's key
	Claims               // one row for each taken value of a unique index; the record's key is its first field
)

// String returns "records", "rows" or "claims".
func (c Class) String() string { return nameOf("class", c, "records", "rows", "claims") }

// A Column names one part of a key or one field, and the kind of its values.
type Column struct {
	Name string
	Kind Kind
	Desc bool // of a sort column: greater values come first
}

// A Table is a set of rows under unique keys. Package repo makes the tables and
// passes the same pointer to every call; a backend may look its own state up
// by Name once, at Define.
//
// The key columns of a table never change under its name; Fields may grow.
// Names are made of a–z, 0–9, '_' and '.', start with a letter or '_' and have
// at most 100 bytes. Names that start with '_' are package repo's own.
type Table struct {
	Name      string
	Class     Class
	Partition []Column // which partition a row lies in; never empty
	Sort      []Column // the order inside the partition; may be empty
	Fields    []Column // what a row carries beside its key, by ordinal

	// Home is, for Rows and Claims, the Records table with whose rows they are
	// committed and whose partition columns they share; nil when their
	// partition is another one. For Records it is the table of another collection with
	// whose rows they are committed, whose partition columns are the same and which has no
	// Home itself; it was defined before, and stays as long as this one. Of such a table all but Name,
	// Class and Partition may be missing. Stores whose commit scope is the whole store ignore Home.
	Home *Table

	// Ring is how many of its last tokens each row keeps; see [Row.Ring]. It is
	// zero where the outcome of a commit is always known.
	Ring int

	// Retention, unless it is 0, lets a store remove a row by itself that is Dead, when no
	// Put and no Fence has changed it for so long. A row that a Put brings back to life stays.
	// Such rows need not be found by a Walk, and not be gone after a Drop.
	Retention time.Duration

	// Unconditional says that every commit to the table is one op without a condition, a Put or
	// a Delete, and that all Puts of a key mean the same, so that it does not matter which
	// of them came last. So a store may write such rows without looking at what is there,
	// if a Delete outdoes the Puts sent before it; others need not know.
	Unconditional bool

	// KeyOnly says that a row is its key and nothing more, and is put and deleted without a
	// condition. Nobody asks which commit wrote it: Rev of a row that is there is any token
	// but the zero one. So a store may write such rows without looking for what is there;
	// others need not know.
	KeyOnly bool

	// Native says that the store itself keeps the index, in step with the rows of
	// Home, which is set then wherever they lie. Partition and Sort name columns of
	// Home; one that ends with "[]" stands for each different element of a list. A row
	// of Home has an entry if none of these columns is absent, and none if it is Dead:
	// whoever writes such a row to a Home leaves these columns out. Entries of equal
	// columns are in the order of the keys of their rows.
	//
	// Nobody writes such a table. A Range of it yields the rows of Home that have an
	// entry in the span, in the order of the entries, as rows of Home: Key is the
	// record's and Span.Mask is of Home's fields. Of Class Claims, no two rows of Home
	// have the same values in all columns: see [Refusal].
	Native bool
}

// Root returns the Records table with whose rows those of t are committed: a chain of Home.
func (t *Table) Root() *Table {
	for t.Home != nil {
		t = t.Home
	}
	return t
}

// A Key names one row of a table. Partition and Sort are the texts that
// [AppendParts] makes of the key columns: valid UTF-8 whose byte order is the
// order of the values, so that a backend may use them as they are; one that wants
// the values takes them from the text by [ParseParts]. Sort is "" in a table
// without sort columns.
type Key struct {
	Partition string
	Sort      string
}
