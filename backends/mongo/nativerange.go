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

// A run is a span of a native index in the words of MongoDB: documents that meet the
// demands on the fields of the partition and all of one of the branches.
type run struct {
	part     []driver.Value
	equal    int // so many columns have one value each
	branches []demands
}

// runOf returns the run of a span; ok is false if no entry can lie in it.
func (v *view) runOf(span *driver.Span) (r run, ok bool, err error) {
	n := v.native
	if r.part, _, err = driver.ParseParts(nil, span.Key.Partition, n.table.Partition); err != nil {
		return r, false, who.Invalid("range of %s: %s", n.table.Name, err)
	}
	low, high := v.placeOf(span.Low, place{}), v.placeOf(span.High, place{over: true})
	cols := n.columns()
	if len(low.vals) > len(cols) || len(high.vals) > len(cols) {
		return r, false, who.Invalid("range of %s: an end has more values than the index has columns", n.table.Name)
	}
	for r.equal < len(low.vals) && r.equal < len(high.vals) && low.vals[r.equal].Equal(high.vals[r.equal]) {
		r.equal++
	}
	if len(low.vals) == r.equal && low.over || len(high.vals) == r.equal && !high.over {
		return r, false, nil
	}
	for _, from := range low.branches(cols, r.equal, "$gt", "$lt") {
		for _, to := range high.branches(cols, r.equal, "$lt", "$gt") {
			branch := make(demands, len(cols))
			for i := range cols {
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

// filterNative appends the condition of the documents of a run.
func (sc *scan) filterNative(w *bson.Writer, name string) {
	at := w.Open(bson.Document, name)
	if len(sc.run.branches) == 1 {
		sc.branch(w, sc.run.branches[0])
	} else {
		or := w.Open(bson.Array, "$or")
		for i, b := range sc.run.branches {
			one := w.Open(bson.Document, strconv.Itoa(i))
			sc.branch(w, b)
			w.Close(one)
		}
		w.Close(or)
	}
	w.Close(at)
}

func (sc *scan) branch(w *bson.Writer, d demands) {
	for i, f := range sc.v.native.part {
		w.Value(f.name, sc.run.part[i])
	}
	for i, f := range sc.v.native.columns() {
		if len(d[i]) == 0 && f.name == "_id" {
			continue
		}
		of := w.Open(bson.Document, f.name)
		for _, demand := range d[i] {
			w.Value(demand.op, demand.value)
		}
		if len(d[i]) == 0 { // it must be there, in its order
			w.Text("$type", typeNames[f.kind])
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
	own, err := v.keyValues(&row.Key)
	if err != nil {
		return nil, err
	}
	for i, f := range v.native.sort {
		value, ok := own[f.name]
		if !ok {
			value = fieldIn(document, f.name)
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

func (v *view) keyValues(key *driver.Key) (map[string]driver.Value, error) {
	vals, err := frame.KeyValues(v.Table.Table, *key)
	own := make(map[string]driver.Value, len(vals))
	for i := range vals {
		own[v.column(i)] = vals[i]
	}
	return own, err
}

// fieldIn returns the value of a field at the top of a document.
func fieldIn(document, name string) driver.Value {
	value, _ := bson.Find(document, name).Value()
	return value
}
