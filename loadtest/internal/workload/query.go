package workload

import (
	"slices"
	"time"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/generate"
)

// A Query is one of the operations of the mix.
type Query struct {
	Name       string
	Place      document.Place
	Weight     float64 // percent
	Kind       string
	Collection *Collection
	Where      []Condition
	Sets       []Set
	At         string  // of near: the field of the places
	Radius     float64 // of near, in metres
	Window     *Window
	Order      []string
	By, Sum    []string // of groups: the fields of the grouping, and those that are summed
	Limit      int      // the most, if it is drawn
	Least      int      // of a limit that is drawn; 0 where it is fixed
	Records    int      // that a group changes
	Parts      []*Query // of a group: what it does with each of them
	Pages      int
	Depth      int    // of a subtree; 0 is all of it
	Below      Bounds // nodes below the drawn one
	Set        []Assignment
	One        bool // of Set one is drawn for each operation
	Add        []Addition
	Push       []Push
	Steps      []Step   // of a journey
	Joins      []Join   // what it fetches of other collections
	Children   []*Query // that are read with each record: they draw from its key
	Draw       Draw
	Objectives []Objective
	Misses     bool // calls that find or change nothing are meant
}

// InOrder reports whether the answers to a query have one order, which no field tells.
func (q *Query) InOrder() bool { return isTreeKind(q.Kind) || q.Kind == "near" }

// A Condition fixes a field: to a literal, or to what a record of the data has.
type Condition struct {
	Field   string // as the library's Where wants it, with [] for elements
	From    string // field of the drawn record; "" means literal
	Literal any
}

// A Set is a condition of several values: literals, those of a record of the data, or so many drawn ones.
type Set struct {
	Way    string // "any_of", "all_of" or "none_of"
	Field  string // with [] for elements
	Values []Condition
	Drawn  int
}

// A Window is a range or prefix of a field. Its ends are literals or drawn.
type Window struct {
	Field    string
	From, To *Condition
	Span     any    // int64, float64 or time.Duration above a drawn from
	Chars    int    // of a drawn prefix
	Prefix   string // literal
	IsPrefix bool
	IsAbove  bool // from itself is not included
	IsAtMost bool // to itself is
}

// A Push puts an element into a list.
type Push struct {
	Field string
	Make  generate.Generator
	Cap   int  // the most elements, so that those on the other side go; 0 is any number
	Front bool // before the first element, and not behind the last one
}

// Into returns a list with an element more.
func (p *Push) Into(list []any, v any) []any {
	switch {
	case p.Front:
		list = append([]any{v}, list...)
		if p.Cap > 0 {
			list = list[:min(len(list), p.Cap)]
		}
	default:
		list = append(slices.Clone(list), v)
		if p.Cap > 0 {
			list = list[max(0, len(list)-p.Cap):]
		}
	}
	return list
}

// An Assignment gives a field a value when a record is updated or inserted.
type Assignment struct {
	Field string
	Make  generate.Generator
}

// An Addition adds to an integer field.
type Addition struct {
	Field string
	By    int64
}

// An Objective bounds a percentile of the response time.
type Objective struct {
	Percentile float64
	Name       string // "p99"
	Bound      time.Duration
}

// DrawsInserted reports whether a query of the collection draws records that the run inserts.
func (c *Collection) DrawsInserted(queries []*Query) bool {
	return slices.ContainsFunc(queries, func(q *Query) bool { return q.Collection == c && q.Draw.Grows() })
}

// groups reports whether a query tells of groups of records.
func (q *Query) groups() bool {
	return q.Kind == "groups" || q.Kind == "distinct" || q.Kind == "firsts"
}

// Writes reports whether a query changes records.
func (q *Query) Writes() bool {
	switch q.Kind {
	case "insert", "put", "update", "modify", "move", "group", "renew", "delete", "transplant":
		return true
	}
	return slices.ContainsFunc(q.Steps, func(s Step) bool { return s.Query.Writes() })
}
