package repo

import (
	"github.com/polystore/polystore/repo/internal/layout"
)

// A Schema says how the records of a collection are found. It is data: the
// same in Go and, field by field in lower case, in YAML and JSON.
type Schema struct {
	// Collection is the name: a–z, 0–9 and '_', a letter first, at most 48 bytes.
	Collection string `json:"collection" yaml:"collection"`

	// With names another collection with which this collection lies: both have the same Partition,
	// of the same kinds. So on every store one [Group] can change records of both in one partition.
	// The other collection is opened first, has no With itself, and cannot be dropped before this
	// collection. With cannot be changed after the collection was made.
	With string `json:"with,omitempty" yaml:"with"`

	// Partition names the fields that decide where a record lives. Records of
	// one partition lie together, in the order of Sort, and can be changed
	// together. At least one field.
	Partition []string `json:"partition" yaml:"partition"`

	// Sort names the fields that order the records of a partition; "-field"
	// puts greater values first. Partition and Sort together are the key.
	Sort []string `json:"sort,omitempty" yaml:"sort"`

	// Indexes are further ways to find records.
	Indexes []Index `json:"indexes,omitempty" yaml:"indexes"`

	// Fields gives the kinds of fields when the records are maps: "bool", "int", "float", "string",
	// "bytes", "time", "list" or "map" by name. An index takes the elements of a "list" for
	// strings; "list of int" and so on name another kind. A name may be a path, "address.city", for
	// an index of that part of a map. With a struct the kinds are known, but for parts of a field of
	// type map[string]any. A write takes an integer for a float; another kind is ErrInvalid.
	Fields map[string]string `json:"fields,omitempty" yaml:"fields"`

	// Types are the types of records that are of several.
	Types Types `json:"-" yaml:"-"`
}

// Types are struct types whose records lie in one collection. They implement the interface type of
// the [Repo], which may be any, as pointers: a *Dog is written, read and found as an Animal.
//
//	repo.Types{Field: "kind", Of: map[string]any{"dog": Dog{}, "cat": Cat{}, "": Other{}}}
//
// Fields of one name have one kind in all types. Those that the key and indexes name may be missing
// in some types: a record without one has no row in the index.
type Types struct {
	// Field is the text field that tells the types apart, which every type has. A write sets it.
	Field string

	// Of has a value of each type, by what Field says. Records of all other types are read as the
	// type under "", which has a field for undeclared fields, and keep what they have when it is
	// written back.
	Of map[string]any
}

// An Index is a table that the library keeps in step with the records: it has a row for each
// record, found by the index's own partition and order. A record that lacks one of the fields (a
// nil pointer, an empty slice) has no row in the index.
type Index struct {
	// Name is made of the names of the fields unless given. Where these make no legal name of an
	// index, the name ends with a hash of them.
	Name string `json:"name,omitempty" yaml:"name"`

	// Partition names the fields that a query must fix, and Sort those that order what it finds;
	// "-field" puts greater values first. At most one of all these fields may be "field[]", the
	// elements of a list: the record has a row for each different element. A name may be that of a
	// part of a field, "address.city".
	Partition []string `json:"partition,omitempty" yaml:"partition"`
	Sort      []string `json:"sort,omitempty" yaml:"sort"`

	// Unique refuses a second record with the same values in all fields.
	Unique bool `json:"unique,omitempty" yaml:"unique"`

	// Covers names fields that the index's rows carry, so that a view of these fields needs one
	// read. "*" stands for the whole record.
	Covers []string `json:"covers,omitempty" yaml:"covers"`

	// Buckets spreads the index over this number of partitions, which are merged on reading. An
	// index without Partition must have buckets. At most 256.
	Buckets int `json:"buckets,omitempty" yaml:"buckets"`

	// Kind is "table", kept by this library; "native", kept by the store; or
	// "auto" or "", which leaves the choice to the library.
	Kind string `json:"kind,omitempty" yaml:"kind"`
}

// String returns the index as it is written in Go.
func (x Index) String() string { return layout.IndexSchema(x).String() }

// def returns the schema as it is compiled.
func (s Schema) def() layout.Schema {
	d := layout.Schema{Collection: s.Collection, With: s.With, Partition: s.Partition, Sort: s.Sort, Fields: s.Fields}
	for _, x := range s.Indexes {
		d.Indexes = append(d.Indexes, layout.IndexSchema(x))
	}
	return d
}

// schemaFrom returns a schema as a caller has it.
func schemaFrom(d layout.Schema) Schema {
	s := Schema{Collection: d.Collection, With: d.With, Partition: d.Partition, Sort: d.Sort, Fields: d.Fields}
	for _, x := range d.Indexes {
		s.Indexes = append(s.Indexes, Index(x))
	}
	return s
}
