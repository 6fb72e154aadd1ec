package generate

// A Table is what is kept in memory of a collection's data: the number of
// records, and the values of the fields that operations draw from.
type Table struct {
	Name    string
	Len     int
	Columns map[string][]any
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
