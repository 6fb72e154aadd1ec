package generate

import "sort"

// A Table is what is kept in memory of a collection's data: the number of
// records, and the values of the fields that operations draw from.
type Table struct {
	Name    string
	Len     int
	Columns map[string][]any

	// Partitions has how many partitions the records make, and how many of them are in the largest, by the fields of the
	// partition, joined by commas.
	Partitions map[string]Partitions

	// Sums are hashes of the records of the fields that no query writes; there are none of nodes of trees.
	Sums []uint64

	// Of nodes of trees, by record: the parent, -1 of a root; how many nodes are below; and the
	// first record of the tree. The records of a tree are together, parents before their children.
	Parents, Below, First []int32
}

// Partitions says how records are spread.
type Partitions struct{ Count, Largest int }

// Mates returns the first of the records that are in the tree of the i-th one, and how many there
// are; of records that are no nodes, all.
func (t *Table) Mates(i int) (first, n int) {
	if t.First == nil {
		return 0, t.Len
	}
	first = int(t.First[i])
	n = sort.Search(t.Len-first, func(j int) bool { return int(t.First[first+j]) != first })
	return first, n
}

// Column returns the values of a field, by record.
func (t *Table) Column(field string) []any { return t.Columns[field] }

// HasAll reports whether the i-th record has all of the fields. A name "" is no field.
func (t *Table) HasAll(i int, fields []string) bool {
	for _, f := range fields {
		if f != "" && t.Column(f)[i] == nil {
			return false
		}
	}
	return true
}
