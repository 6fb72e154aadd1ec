package workload

import (
	"slices"
	"strings"
)

// Written returns the fields of a collection whose values answers are checked by one by one: those that queries write in
// records that are there, the parent of nodes, and those that other records are joined with.
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
	for j := range w.joined {
		for _, f := range j.Take {
			if j.From == c {
				fields[f] = true
			}
		}
	}
	return fields
}

// Unsummed returns the fields that Written does, and those that answers have of other records.
func (w *Workload) Unsummed(c *Collection) map[string]bool {
	fields := w.Written(c)
	for _, q := range w.Queries {
		for _, j := range q.Joins {
			for _, f := range j.Take {
				fields[j.Shown(f)] = true
			}
		}
	}
	for _, mo := range w.Models {
		for _, j := range mo.Copies[c.At] {
			for _, f := range j.Take {
				fields[j.Shown(f)] = true
			}
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
