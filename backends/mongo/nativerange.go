package mongo

import (
	"slices"
	"strconv"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A place is an end of a run in a native index: before all entries that begin with some
// values of the fields of its Sort, and then with an _id, or after them.
type place struct {
	vals []driver.Value
	over bool
}

// placeOf returns the place of a bound; end is what nil stands for.
func (v *view) placeOf(b *driver.Bound, end place) place {
	if b == nil {
		return end
	}
	p := place{vals: slices.Clone(b.Values), over: b.Over}
	if b.Record != nil {
		p.vals = append(p.vals, driver.StringValue(idOf(b.Record)))
	}
	return p
}

// all returns the fields of the index, with _id where that is one.
func (n *native) all() []keyField { return slices.Concat(n.part, n.columns()) }

// columns returns the fields that order the entries of a partition.
func (n *native) columns() []keyField {
	if n.unique {
		return n.sort
	}
	return slices.Concat(n.sort, byID)
}

// A demand is what a field of a document must be.
type demand struct {
	op    string
	value driver.Value
}

// demands are those on each field of a native index, by its place in the order.
type demands [][]demand

// A run is a part of a native index in the words of MongoDB: documents that have the values of the part columns, and
// meet all demands of one of the branches on the columns.
type run struct {
	part     []keyField
	values   []driver.Value
	cols     []keyField
	equal    int // so many columns have one value each
	branches []demands
	mixed    bool // with documents of other programs that have values of other kinds
}

// runOf returns the run of a span; ok is false if no entry can lie in it.
func (v *view) runOf(span *driver.Span) (r run, ok bool, err error) {
	n := v.native
	r.part, r.cols = n.part, n.columns()
	if r.values, _, err = driver.ParseParts(nil, span.Key.Partition, n.table.Partition); err != nil {
		return r, false, who.Invalid("range of %s: %s", n.table.Name, err)
	}
	low, high := v.placeOf(span.Low, place{}), v.placeOf(span.High, place{over: true})
	if len(low.vals) > len(r.cols) || len(high.vals) > len(r.cols) {
		return r, false, who.Invalid("range of %s: an end has more values than the index has columns", n.table.Name)
	}
	for r.equal < len(low.vals) && r.equal < len(high.vals) && low.vals[r.equal].Equal(high.vals[r.equal]) {
		r.equal++
	}
	if len(low.vals) == r.equal && low.over || len(high.vals) == r.equal && !high.over {
		return r, false, nil
	}
	for _, from := range low.branches(r.cols, r.equal, "$gt", "$lt") {
		for _, to := range high.branches(r.cols, r.equal, "$lt", "$gt") {
			branch := make(demands, len(r.cols))
			for i := range r.cols {
				branch[i] = slices.Concat(from[i], to[i])
			}
			for i := range r.equal {
				branch[i] = []demand{{"$eq", low.vals[i]}}
			}
			r.branches = append(r.branches, branch)
		}
	}
	return r, true, nil
}

// branches returns, for each field from some on, what makes an entry lie on the right
// side of p by that field: that those before it are equal, and it is beyond. Beyond is
// the operator of a field in ascending order, desc that of one in descending order.
func (p *place) branches(cols []keyField, from int, beyond, desc string) []demands {
	if len(p.vals) == from {
		return []demands{make(demands, len(cols))}
	}
	included := p.over == (beyond == "$lt")
	var list []demands
	for i := from; i < len(p.vals); i++ {
		d := make(demands, len(cols))
		for j := from; j < i; j++ {
			d[j] = []demand{{"$eq", p.vals[j]}}
		}
		op := beyond
		if cols[i].desc {
			op = desc
		}
		if i == len(p.vals)-1 && included {
			op += "e"
		}
		d[i] = []demand{{op, p.vals[i]}}
		list = append(list, d)
	}
	return list
}

// filter appends the condition of the documents of a run.
func (r *run) filter(w *bson.Writer, name string) {
	at := w.Open(name)
	if len(r.branches) == 1 {
		r.branch(w, r.branches[0])
	} else {
		w.OpenList("$or")
		for i, b := range r.branches {
			one := w.Open(strconv.Itoa(i))
			r.branch(w, b)
			w.Close(one)
		}
	}
	w.Close(at)
}

// branch names each column, as an index wants it that is partial.
func (r *run) branch(w *bson.Writer, d demands) {
	for i, f := range r.part {
		w.Value(f.name, r.values[i])
	}
	for i, f := range r.cols {
		if len(d[i]) == 0 && f.name == "_id" {
			continue
		}
		of := w.Open(f.name)
		for _, demand := range d[i] {
			w.Value(demand.op, demand.value)
		}
		switch {
		case len(d[i]) > 0:
		case r.mixed:
			w.Head(bson.MinKey, "$gte") // which any value meets
		default:
			w.Text("$type", typeNames[f.kind]) // it must be there, in its order
		}
		w.Close(of)
	}
}

// typeNames are the names that MongoDB has for the types of ordered kinds.
var typeNames = map[driver.Kind]string{driver.Bool: "bool", driver.Int: "long", driver.Float: "double", driver.String: "string", driver.Time: "date"}

// projection appends what is to be read of documents: in a native index with the fields that say where
// one lies.
func (sc *scan) projection(w *bson.Writer) {
	mask := sc.span.Mask
	if mask != nil && sc.v.native != nil {
		mask = slices.Clone(mask)
		for _, f := range sc.v.native.sort {
			if i, ok := sc.v.Ordinals[f.name]; ok && !slices.Contains(mask, i) {
				mask = append(mask, i)
			}
		}
	}
	sc.v.projection(w, mask)
}

// after returns the bound next to the entry of a document that was read, whose fields of
// the key are its key's.
func (v *view) after(document string, row *driver.Row, span *driver.Span) (*driver.Bound, error) {
	b := &driver.Bound{Record: &row.Key, Over: !span.Reverse}
	if v.native.unique {
		b.Record = nil
	}
	own, err := frame.KeyValues(v.Table.Table, row.Key)
	if err != nil {
		return nil, err
	}
	columns := slices.Concat(v.Partition, v.Sort)
	for i, f := range v.native.sort {
		value := fieldIn(document, f.name)
		if at := slices.IndexFunc(columns, func(c driver.Column) bool { return c.Name == f.name }); at >= 0 {
			value = own[at]
		}
		if f.elem && span.Low != nil && i < len(span.Low.Values) {
			value = span.Low.Values[i] // all entries of the run have it
		}
		if value.Kind() != f.kind {
			return nil, v.badRow(idOf(&row.Key), f.name)
		}
		b.Values = append(b.Values, value)
	}
	return b, nil
}

// fieldIn returns the value of a field at the top of a document.
func fieldIn(document, name string) driver.Value {
	value, _ := bson.Find(document, name).Value()
	return value
}
