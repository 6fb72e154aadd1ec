package repo

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// A Schema says how the records of a collection are found. It is data: the
// same in Go and, field by field in lower case, in YAML and JSON.
type Schema struct {
	// Collection is the name: a–z, 0–9 and '_', a letter first, at most 48 bytes.
	Collection string `json:"collection" yaml:"collection"`

	// Partition names the fields that decide where a record lives. Records of
	// one partition lie together, in the order of Sort, and can be changed
	// together. At least one field.
	Partition []string `json:"partition" yaml:"partition"`

	// Sort names the fields that order the records of a partition; "-field"
	// puts greater values first. Partition and Sort together are the key.
	Sort []string `json:"sort,omitempty" yaml:"sort"`

	// Indexes are further ways to find records.
	Indexes []Index `json:"indexes,omitempty" yaml:"indexes"`

	// Fields gives the kinds of fields when the records are maps: "bool",
	// "int", "float", "string", "bytes", "time", "list" or "map" by name. An index
	// takes the elements of a list for strings unless it is a "list of int", say. With
	// a struct they are known and Fields is empty.
	Fields map[string]string `json:"fields,omitempty" yaml:"fields"`
}

// An Index is a table that the library keeps in step with the records: it has a
// row for each record, found by the index's own partition and order. A record
// in which one of the fields is absent (a nil pointer, an empty slice) has no
// row in the index.
type Index struct {
	// Name is made of the fields unless given. Where their names are no legal name of
	// an index, it ends with a sum of them.
	Name string `json:"name,omitempty" yaml:"name"`

	// Partition names the fields that a query must fix, and Sort those that order
	// what it finds; "-field" puts greater values first. One of all fields may
	// be "field[]", a list: the record has a row for each different element.
	Partition []string `json:"partition,omitempty" yaml:"partition"`
	Sort      []string `json:"sort,omitempty" yaml:"sort"`

	// Unique refuses a second record with the same values in all fields.
	Unique bool `json:"unique,omitempty" yaml:"unique"`

	// Covers names fields that the index's rows carry, so that a view of no
	// other fields is answered by one read. "*" stands for the whole record.
	Covers []string `json:"covers,omitempty" yaml:"covers"`

	// Buckets spreads the index over so many partitions, which are merged on
	// reading. An index without Partition must have it. At most 256.
	Buckets int `json:"buckets,omitempty" yaml:"buckets"`

	// Kind is "table", kept by this library; "native", kept by the store; or
	// "auto" or "", which leaves the choice to the library.
	Kind string `json:"kind,omitempty" yaml:"kind"`
}

// name returns the index's name, made of its fields unless given.
func (x Index) name() string {
	if x.Name != "" {
		return x.Name
	}
	var parts []string
	for _, f := range x.Partition {
		parts = append(parts, strings.TrimSuffix(f, "[]"))
	}
	for _, f := range x.Sort {
		if strings.HasPrefix(f, "-") {
			parts = append(parts, f[1:]+"_desc")
		} else {
			parts = append(parts, strings.TrimSuffix(f, "[]"))
		}
	}
	return legalName("by_" + strings.Join(parts, "_"))
}

// legalName returns a name as it is, if an index may have it, or else what of it is legal
// with a sum of the whole, so that userId and userid give two names.
func legalName(name string) string {
	const most, sum = 48, 9
	if indexName.MatchString(name) {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	legal := strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	return fmt.Sprintf("%s_%08x", legal[:min(len(legal), most-sum)], h.Sum32())
}

// String returns the index as it is written in Go.
func (x Index) String() string {
	var b strings.Builder
	b.WriteString("{Partition: " + quoteList(x.Partition))
	if len(x.Sort) > 0 {
		b.WriteString(", Sort: " + quoteList(x.Sort))
	}
	if x.Unique {
		b.WriteString(", Unique: true")
	}
	return b.String() + "}"
}

func quoteList(names []string) string {
	if len(names) == 0 {
		return "[]"
	}
	return `["` + strings.Join(names, `", "`) + `"]`
}
