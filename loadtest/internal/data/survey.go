package data

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A surveyor reads the data of a collection once, before anything is written: it
// checks every record and keeps what operations draw from.
type surveyor struct {
	w      *workload.Workload
	c      *workload.Collection
	t      *generate.Table
	keys   []map[string]int          // by each of the collection's keys, and by the values of that: the line
	spread map[string]map[string]int // by the fields of a partition, and by their values: how many records
	unique []uniqueValues            // by unique index of any model
	lists  map[string]bool           // lists whose elements some model indexes
	writes map[string]bool           // the fields that queries write
	trees  *forester                 // nil if the records are no nodes of trees
	hosts  []hosts                   // of each model that embeds the records
	faults failure.Faults
}

type uniqueValues struct {
	fields []string
	lines  map[string]int
}

// Survey reads the data of all collections.
func Survey(ctx context.Context, w *workload.Workload, p *progress.Log) ([]*generate.Table, error) {
	var data []*generate.Table
	for _, c := range w.Collections {
		s := newSurveyor(w, c)
		s.hosts = hostsOf(w, c, data)
		step := p.Begin("read "+c.Schema.Collection, w.Limited(c.Data.Count), "records")
		for r, err := range Rows(ctx, w, c, data) {
			if err != nil {
				return nil, err
			}
			if s.add(r); len(s.faults) >= limit.MaxFaults {
				break
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			step.Add(1)
		}
		step.End()
		if s.trees != nil {
			s.trees.end()
		}
		s.sumUp()
		if err := failure.AsError(s.faults); err != nil {
			return nil, err
		}
		if s.t.Len == 0 {
			return nil, failure.Faults{{File: c.Data.Name(w), Text: "there is no record in it"}}
		}
		data = append(data, s.t)
	}
	return data, nil
}

func newSurveyor(w *workload.Workload, c *workload.Collection) *surveyor {
	s := &surveyor{w: w, c: c, lists: map[string]bool{}, writes: w.Written(c)}
	s.t = &generate.Table{Name: c.Schema.Collection, Columns: map[string][]any{}}
	for range c.Keys {
		s.keys = append(s.keys, map[string]int{})
	}
	for f := range c.Needs {
		s.t.Columns[f] = nil
	}
	if c.Tree != nil {
		s.trees = &forester{s: s, begun: map[string]int{}}
	}
	s.spread = map[string]map[string]int{}
	for _, mo := range w.Models {
		if c.Tree == nil {
			s.spread[strings.Join(mo.Schemas[c.At].Partition, ",")] = map[string]int{}
		}
		for _, x := range mo.Schemas[c.At].Indexes {
			fields := slices.Concat(x.Partition, x.Sort)
			for _, f := range fields {
				if bare, ok := strings.CutSuffix(strings.TrimPrefix(f, "-"), "[]"); ok {
					s.lists[bare] = true
				}
			}
			if x.Unique {
				s.addUnique(fields)
			}
		}
	}
	return s
}

// sumUp notes how the records are spread.
func (s *surveyor) sumUp() {
	s.t.Partitions = map[string]generate.Partitions{}
	for fields, counts := range s.spread {
		p := generate.Partitions{Count: len(counts)}
		for _, n := range counts {
			p.Largest = max(p.Largest, n)
		}
		s.t.Partitions[fields] = p
	}
}

func (s *surveyor) addUnique(fields []string) {
	for i := range fields {
		fields[i] = strings.TrimPrefix(fields[i], "-")
	}
	if !slices.ContainsFunc(s.unique, func(u uniqueValues) bool { return slices.Equal(u.fields, fields) }) {
		s.unique = append(s.unique, uniqueValues{fields, map[string]int{}})
	}
}

func (s *surveyor) add(r Row) {
	s.t.Len++
	for i, key := range s.c.Keys {
		if !s.addKey(r, i, key) {
			return
		}
	}
	for i := range s.hosts {
		s.hosts[i].check(s, r)
	}
	for fields, counts := range s.spread {
		counts[value.Identity(r.record, strings.Split(fields, ","))]++
	}
	if s.trees != nil {
		s.trees.add(r)
	} else {
		s.t.Sums = append(s.t.Sums, value.Sum(r.record, s.writes))
	}
	for _, u := range s.unique {
		s.checkUnique(r, u)
	}
	for _, f := range slices.Sorted(maps.Keys(s.lists)) {
		s.checkElements(r, f)
	}
	for f, col := range s.t.Columns {
		s.t.Columns[f] = append(col, r.record[f])
	}
}

// addKey notes one of the keys of a record, and reports one that is not whole, or that another record has.
func (s *surveyor) addKey(r Row, i int, key []string) bool {
	of := "the key"
	if i > 0 {
		of = fmt.Sprintf("the key (%s) of a model", strings.Join(key, ", "))
	}
	for _, k := range key {
		if r.record[k] == nil {
			s.fault(r, "it has no %s, which is part of %s; the generator of a key field makes a value each time", k, of)
			return false
		}
	}
	id := value.Identity(r.record, key)
	if first, taken := s.keys[i][id]; taken {
		s.fault(r, "%s %s is that of %s %d, too; a key names one record", of, value.Key(r.record, key), s.rowWord(), first)
		return false
	}
	s.keys[i][id] = r.Line
	return true
}

// checkUnique reports a second record with the values of a unique index. One that
// lacks a field has no place in the index.
func (s *surveyor) checkUnique(r Row, u uniqueValues) {
	for _, f := range u.fields {
		if r.record[f] == nil {
			return
		}
	}
	found := value.Identity(r.record, u.fields)
	if first, taken := u.lines[found]; taken {
		s.fault(r, "%s %s is that of %s %d, too, and an index on it is unique; make that index not unique, or mend the data",
			strings.Join(u.fields, ", "), value.Key(r.record, u.fields), s.rowWord(), first)
		return
	}
	u.lines[found] = r.Line
}

// checkElements reports elements that an index over a list cannot take.
func (s *surveyor) checkElements(r Row, field string) {
	list, _ := r.record[field].([]any)
	for _, x := range list {
		if _, ok := x.(string); !ok {
			s.fault(r, "list %s has the element %v, and an index over the elements takes text only", field, x)
			return
		}
	}
}

func (s *surveyor) rowWord() string {
	if s.c.Data.File == "" {
		return "record"
	}
	return "line"
}

func (s *surveyor) fault(r Row, format string, args ...any) {
	f := failure.Fault{File: s.c.Data.Name(s.w), Line: r.Line, Text: fmt.Sprintf(format, args...)}
	if s.c.Data.File == "" {
		f.Line, f.Column = s.c.Data.Place.Line, s.c.Data.Place.Column
		f.Text = fmt.Sprintf("record %d of %s: ", r.Line, s.c.Schema.Collection) + f.Text
	}
	s.faults = append(s.faults, f)
}
