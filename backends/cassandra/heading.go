package cassandra

import (
	"slices"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// A meaning is what a column of an answer is for: the ordinal of a field, or one of these.
type meaning int

const (
	keyColumn meaning = -1 - iota // or another that has nothing of a row
	metaColumn
	extraColumn
	laterColumn
	deadColumn
	timeColumn
	otherColumn // a field that the view does not declare
)

// A heading is the columns of an answer, as a view takes them.
type heading struct {
	columns  []gocql.ColumnInfo
	names    []string // of fields, and of columns that are for none
	types    []gocql.Type
	meanings []meaning
	parts    []int // where the partition columns are, -1 for those that were not asked for
	sort     int   // where _sort is, or -1; so the others
	rev      int
	dead     int
	later    int
}

// mostHeadings is how many headings a view keeps: statements are few, until others declare
// fields.
const mostHeadings = 8

// headingOf returns the heading of columns, which mostly is one that an earlier answer had.
func (v *view) headingOf(cols []gocql.ColumnInfo) *heading {
	known := v.headings.Load()
	if known != nil {
		if i := slices.IndexFunc(*known, func(l *heading) bool { return l.equals(cols) }); i >= 0 {
			return (*known)[i]
		}
	}
	l := v.newHeading(cols)
	next := []*heading{l}
	if known != nil {
		next = append(next, (*known)[:min(len(*known), mostHeadings-1)]...)
	}
	v.headings.Store(&next)
	return l
}

// equals reports whether columns are those of l. Answers to one statement mostly share them.
func (l *heading) equals(cols []gocql.ColumnInfo) bool {
	if len(cols) > 0 && len(l.columns) == len(cols) && &l.columns[0] == &cols[0] {
		return true
	}
	return slices.EqualFunc(l.columns, cols, func(a, b gocql.ColumnInfo) bool {
		return a.Name == b.Name && a.TypeInfo.Type() == b.TypeInfo.Type()
	})
}

func (v *view) newHeading(cols []gocql.ColumnInfo) *heading {
	l := &heading{columns: cols}
	for _, c := range cols {
		name, means := c.Name, keyColumn
		if of, mine := v.nameOf(c.Name); mine {
			name, means = of, v.meaningOf(of)
		}
		l.names, l.types, l.meanings = append(l.names, name), append(l.types, c.TypeInfo.Type()), append(l.meanings, means)
	}
	for _, p := range v.Partition {
		at := slices.Index(l.names, p.Name)
		l.parts = append(l.parts, at)
		if at >= 0 {
			l.meanings[at] = keyColumn
		}
	}
	for name, at := range map[string]*int{sortColumn: &l.sort, "_rev": &l.rev, "_dead": &l.dead, "_later": &l.later} {
		*at = slices.Index(l.names, name)
	}
	return l
}

func (v *view) meaningOf(column string) meaning {
	if ordinal, declared := v.Ordinals[column]; declared {
		return meaning(ordinal)
	}
	switch column {
	case sortColumn, "[applied]":
		return keyColumn
	case "_rev", "_ring", "_expires", "_note":
		return metaColumn
	case "_extra":
		return extraColumn
	case "_later":
		return laterColumn
	case "_dead":
		return deadColumn
	case writtenColumn:
		return timeColumn
	}
	return otherColumn
}
