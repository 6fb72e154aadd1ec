package cassandra

import (
	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A section is a span as statements have it.
type section struct {
	partition string // of the rows that it yields
	args      []any  // nil where there can be none
}

// sectionOf returns the section of a span.
func (v *view) sectionOf(span *driver.Span) (section, error) {
	if v.native != nil {
		return v.nativeSection(span)
	}
	from, to := v.head+span.From, v.head+span.To
	if span.To == "" {
		to = driver.After(v.head)
	}
	return v.sectionBetween(span.Key.Partition, from, to)
}

func (v *view) sectionBetween(partition, from, to string) (section, error) {
	if from >= to {
		return section{}, nil
	}
	args, err := v.partition(make([]any, 0, len(v.Partition)+4), partition)
	return section{partition, append(args, from, to)}, err
}

// nativeSection is sectionOf for a native index: the partition of the records, between two of
// their keys, and the values of the fields.
func (v *view) nativeSection(span *driver.Span) (section, error) {
	n := v.native
	vals, rest, err := driver.ParseParts(nil, span.Key.Partition, n.table.Partition)
	if err != nil || rest != "" {
		return section{}, who.Invalid("index %s: the partition %.200q is not one of its key columns", n.table.Name, driver.Private(span.Key.Partition))
	}
	home := make([]driver.Value, len(n.parts))
	for i, at := range n.parts {
		home[i] = vals[at]
	}
	partition, err := driver.AppendParts(nil, v.Partition, home)
	if err != nil {
		return section{}, who.Wrap(err)
	}
	from, err := v.placeOf(span.Low, v.head)
	if err != nil {
		return section{}, err
	}
	to, err := v.placeOf(span.High, driver.After(v.head))
	if err != nil {
		return section{}, err
	}
	r, err := v.sectionBetween(string(partition), from, to)
	if err != nil || r.args == nil {
		return r, err
	}
	for _, at := range n.wanted {
		value := bindable(vals[at])
		if span.Reverse {
			value = []any{value}
		}
		r.args = append(r.args, value)
	}
	return r, nil
}

// placeOf returns the clustering text of a bound, whose columns are those with which
// the order of the records begins; end is that of nil.
func (v *view) placeOf(b *driver.Bound, end string) (string, error) {
	if b == nil {
		return end, nil
	}
	text := []byte(v.head)
	switch {
	case b.Record != nil:
		text = append(text, b.Record.Sort...)
	case len(b.Values) > len(v.native.table.Sort):
		return "", who.Invalid("range of %s: an end has more values than the index has columns", v.native.table.Name)
	default:
		var err error
		if text, err = driver.AppendParts(text, v.Sort[:len(b.Values)], b.Values); err != nil {
			return "", who.Wrap(err)
		}
	}
	if b.Over {
		return driver.After(string(text)), nil
	}
	return string(text), nil
}

// conditions returns what the rows of a span in a native index meet beside their place. SAI takes an
// equality, for which IN with one value in the text passes too, and then knows no order but the
// one that there is. It does not take IN with a list that is bound, by which the server filters.
func (v *view) conditions(reverse bool) string {
	if v.native == nil {
		return v.live()
	}
	text, is := "", " = ?"
	if reverse {
		is = " IN ?"
	}
	for _, column := range v.quotedColumns(v.native.fields()) {
		text += " AND " + column + is
	}
	return text
}

// filters reports whether the server filters the rows of a span.
func (v *view) filters(reverse bool) bool { return v.native == nil || reverse }

// lostIndex returns the error of a run, which means of a native index that somebody removed
// it if the server would have to filter, and was not told to.
func (v *view) lostIndex(err error, reverse bool) error {
	if v.native == nil || reverse || codeOf(err) != gocql.ErrCodeInvalid {
		return err
	}
	return who.Schema("the table %s has lost an index of %s; make it again with Rebuild: %s", v.physical, v.native.table.Name, err)
}

// goOn takes the rows of a page out of a span.
func (v *view) goOn(p *frame.Pager, got *pageOf) {
	if v.native == nil || got.rows == 0 {
		p.GoOn(v.Sort, got.bytes)
		return
	}
	p.Resize(got.bytes)
	key := got.last
	switch b := (&driver.Bound{Record: &key, Over: !p.Span.Reverse}); {
	case len(v.Sort) == 0:
		p.Done = true
	case p.Span.Reverse:
		p.Span.High = b
	default:
		p.Span.Low = b
	}
}
