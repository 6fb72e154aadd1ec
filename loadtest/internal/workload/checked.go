package workload

import (
	"slices"
	"strings"
)

// Written returns the fields of a collection that queries write in records that are there, and the parent of nodes.
func (w *Workload) Written(c *Collection) map[string]bool {
	fields := map[string]bool{}
	if c.Tree != nil {
		fields[c.Tree.Parent] = true
	}
	for _, q := range w.Queries {
		if q.Collection != c || q.Kind == "insert" {
			continue
		}
		for _, f := range q.Changed() {
			fields[f] = true
		}
	}
	return fields
}

// Compared returns the fields by which a query finds records and orders them.
func (q *Query) Compared() (fields []string) {
	for _, c := range q.Where {
		fields = append(fields, c.Field)
	}
	for _, s := range q.Sets {
		fields = append(fields, s.Field)
	}
	if q.Window != nil {
		fields = append(fields, q.Window.Field)
	}
	fields = append(fields, q.At)
	for _, f := range q.Order {
		fields = append(fields, strings.TrimPrefix(f, "-"))
	}
	for i, f := range fields {
		fields[i] = strings.TrimSuffix(f, "[]")
	}
	slices.Sort(fields)
	return slices.DeleteFunc(slices.Compact(fields), func(f string) bool { return f == "" })
}

// bare returns names of fields without what says that their elements are meant.
func bare(fields []string) (names []string) {
	for _, f := range fields {
		names = append(names, strings.TrimSuffix(f, "[]"))
	}
	return names
}

// needChecked keeps the fields by which answers are checked: keys, what queries compare, and what they write.
func (w *Workload) needChecked() {
	for _, c := range w.Collections {
		fields := c.Key()
		for f := range w.Written(c) {
			fields = append(fields, f)
		}
		for _, q := range w.Queries {
			if q.Collection == c {
				fields = append(append(append(fields, q.Compared()...), bare(q.By)...), q.Sum...)
			}
			for _, own := range q.Children {
				if own.Collection == c {
					fields = append(fields, own.Compared()...)
				}
			}
		}
		for _, f := range fields {
			c.Needs[f] = true
		}
	}
}
