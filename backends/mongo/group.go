package mongo

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Group lets the server group the documents of a native index.
func (s *Store) Group(ctx context.Context, g driver.Grouping, yield func(*driver.Group) bool) error {
	_, err := frame.Group(ctx, s.in.frame, &g, func(index *view) (done struct{}, err error) {
		sc, ok, err := index.scan(&g.Span)
		if err != nil || !ok {
			return done, err
		}
		o := grouping{scan: sc, of: &g, conn: s.in.conn, yield: yield}
		return done, o.group(ctx)
	})
	return err
}

// A grouping is a call of Group.
type grouping struct {
	scan
	of    *driver.Grouping
	conn  *conn
	yield func(*driver.Group) bool
}

func (o *grouping) group(ctx context.Context) error {
	if err := o.possible(); err != nil {
		return err
	}
	ask := o.ask()
	return o.conn.computed(ctx, o.doing(), o.conn.acknowledged(&ask), o.read)
}

func (o *grouping) doing() string { return "group " + o.v.native.table.Name }

// free returns the columns by which the documents are grouped that have several values in the span.
func (o *grouping) free() []keyField {
	cols := o.run.cols[:o.of.Columns]
	return cols[min(o.run.equal, len(cols)):]
}

// possible is ErrUnsupported if the server groups other values than the library would.
func (o *grouping) possible() error {
	for _, f := range o.free() {
		if f.elem || f.kind == driver.Float {
			return who.Unsupported("%s: the server groups otherwise by %s", o.doing(), f.name)
		}
	}
	for _, name := range o.of.Sums {
		if o.v.Late[o.v.Ordinals[name]] {
			return who.Unsupported("%s: documents may have the field %s elsewhere", o.doing(), name)
		}
	}
	return nil
}

// ask returns the command, all but its end. A document of the answer is a group: its _id has the values of the free columns.
func (o *grouping) ask() bson.Writer {
	w := command("aggregate", o.v.collection)
	w.Open("cursor")
	w.Int32("batchSize", mostComputed)
	w.CloseAll()
	o.hint(&w)
	w.OpenList("pipeline")
	n := 0
	next := func(write func()) {
		w.Close(stage(&w, n, write))
		n++
	}
	next(func() { o.filter(&w, "$match") })
	next(func() { o.live(&w) })
	next(func() { o.groups(&w) })
	if free := o.free(); len(free) > 0 {
		next(func() {
			at := w.Open("$sort")
			for i, f := range free {
				w.Int32(fmt.Sprint("_id.", column(i)), f.direction(o.span.Reverse))
			}
			w.Close(at)
		})
	}
	if o.span.Limit > 0 {
		next(func() { w.Int64("$limit", int64(o.span.Limit)) })
	}
	return w
}

// column returns the name of the i-th value of a group.
func column(i int) string { return fmt.Sprint("c", i) }

// live appends the stage that takes what has not expired.
func (o *grouping) live(w *bson.Writer) {
	at := w.Open("$match")
	not := w.Open("_expires", "$not")
	w.Date("$lte", o.of.Now)
	w.Close(not)
	w.Close(at)
}

// groups appends the stage that makes the groups.
func (o *grouping) groups(w *bson.Writer) {
	at := w.Open("$group")
	id := w.Open("_id")
	for i, f := range o.free() {
		w.Text(column(i), "$"+f.name)
	}
	w.Close(id)
	n := w.Open("n")
	w.Int64("$sum", 1)
	w.Close(n)
	for i, name := range o.of.Sums {
		w.TextIn(sum(i), "$sum", "$"+name)
	}
	w.Close(at)
}

// sum returns the name of the i-th sum of a group.
func sum(i int) string { return fmt.Sprint("s", i) }

// read yields the groups of an answer, and reports whether there are more to be had.
func (o *grouping) read(b *batch) (more bool, err error) {
	g := driver.Group{Values: make([]driver.Value, o.of.Columns), Sums: make([]int64, len(o.of.Sums))}
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		if err := o.take(e.Data, &g); err != nil {
			return false, err
		}
		if !o.yield(&g) {
			return false, nil
		}
	}
	return b.more, nil
}

// take reads a group.
func (o *grouping) take(document string, g *driver.Group) error {
	free := o.free()
	for i := range g.Values[:o.of.Columns-len(free)] {
		g.Values[i] = o.span.Low.Values[i]
	}
	id := bson.Find(document, "_id").Data
	for i, f := range free {
		value := fieldIn(id, column(i))
		if value.Kind() != f.kind {
			return who.Unsupported("%s: a document has no %s of kind %s", o.doing(), f.name, f.kind)
		}
		g.Values[o.of.Columns-len(free)+i] = value
	}
	n, ok := bson.Find(document, "n").Number()
	if !ok {
		return who.Corrupt("%s: %s: the answer cannot be read", o.doing(), o.conn.addr)
	}
	g.Count = n
	for i, name := range o.of.Sums {
		e := bson.Find(document, sum(i))
		if e.Kind == bson.Double { // of too great numbers, or a document with one
			return who.Unsupported("%s: the sum of %s is no int64", o.doing(), name)
		}
		if g.Sums[i], ok = e.Number(); !ok {
			return who.Unsupported("%s: the sum of %s cannot be read", o.doing(), name)
		}
	}
	return nil
}
