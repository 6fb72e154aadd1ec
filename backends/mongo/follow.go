package mongo

import (
	"context"
	"strconv"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Follow lets the server follow a trail by $graphLookup, in one command whose read concern is "snapshot".
func (s *Store) Follow(ctx context.Context, trail driver.Trail, beside []*driver.Table, yield func(i int, row *driver.Row) bool) error {
	_, err := frame.Follow(ctx, s.in.frame, &trail, beside, func(index *view, beside []*view) (done struct{}, err error) {
		f := following{store: s.in, trail: &trail, views: append([]*view{index}, beside...), yield: yield}
		return done, f.follow(ctx)
	})
	return err
}

// A following is a call of Follow.
type following struct {
	store *store
	trail *driver.Trail
	views []*view // of the index, and of the tables beside
	yield func(i int, row *driver.Row) bool
}

func (f *following) follow(ctx context.Context) error {
	conn, doing := f.store.conn, "follow "+f.trail.Index.Name
	if err := f.possible(); err != nil {
		return err
	}
	ask, err := f.ask()
	if err != nil {
		return err
	}
	return conn.computed(ctx, doing, conn.concerned(&ask, "snapshot"), func(b *batch) (bool, error) { return f.read(ctx, b) })
}

// possible is ErrUnsupported if documents may lack the fields by which the server follows a trail.
func (f *following) possible() error {
	v := f.views[0]
	if !f.store.conn.set {
		return who.Unsupported("follow %s: a server that stands alone reads nothing at one instant", f.trail.Index.Name)
	}
	for _, name := range []string{f.trail.From, f.trail.Index.Sort[0].Name} {
		if i, declared := v.Ordinals[name]; declared && v.Late[i] || !declared && !v.copied[name] {
			return who.Unsupported("follow %s: documents may lack the field %s", f.trail.Index.Name, name)
		}
	}
	return nil
}

// ask returns the command, all but its end. Each document of the answer has one field, which is a row's, and whose name is the
// index of its table.
func (f *following) ask() (w bson.Writer, err error) {
	n, p := f.views[0].native, f.trail.Partition
	values, _, err := driver.ParseParts(nil, p, n.table.Partition)
	if err != nil {
		return w, who.Invalid("follow %s: %s", n.table.Name, err)
	}
	w = command("aggregate", f.views[0].collection)
	w.Open("cursor")
	w.Int32("batchSize", mostComputed)
	w.CloseAll()
	w.OpenList("pipeline")
	w.Close(stage(&w, 0, func() { within(&w, p) }))
	w.Close(stage(&w, 1, func() { w.Int64("$limit", 1) })) // some document, since there is no stage without
	w.Close(stage(&w, 2, func() { f.lookup(&w, values) }))
	w.Close(stage(&w, 3, func() { w.Text("$unwind", "$row") }))
	w.Close(stage(&w, 4, func() { wrap(&w, 0, "$row") }))
	for i, v := range f.views[1:] {
		w.Close(stage(&w, 5+i, func() {
			at := w.Open("$unionWith")
			w.Text("coll", v.collection)
			of := w.OpenList("pipeline")
			w.Close(stage(&w, 0, func() { within(&w, p) }))
			w.Close(stage(&w, 1, func() { wrap(&w, i+1, "$$ROOT") }))
			w.Close(of)
			w.Close(at)
		}))
	}
	return w, nil
}

// stage appends a stage of a pipeline, which is to be closed.
func stage(w *bson.Writer, i int, write func()) int {
	at := w.Open(strconv.Itoa(i))
	write()
	return at
}

// within appends the stage that takes the rows of a partition.
func within(w *bson.Writer, partition string) {
	at := w.Open("$match")
	id := w.Open("_id")
	w.Text("$gte", partition)
	w.Text("$lt", driver.After(partition))
	w.Close(id)
	w.BoolIn("_dead", "$ne", true)
	w.Close(at)
}

// wrap appends the stage that makes a document the field i.
func wrap(w *bson.Writer, i int, document string) {
	at := w.Open("$replaceRoot")
	w.TextIn("newRoot", strconv.Itoa(i), document)
	w.Close(at)
}

// lookup appends the stage that follows the trail. It names each column of the index, as an index wants it that is
// partial.
func (f *following) lookup(w *bson.Writer, partition []driver.Value) {
	n := f.views[0].native
	at := w.Open("$graphLookup")
	w.Text("from", f.views[0].collection)
	start := w.Open("startWith")
	w.Value("$literal", f.trail.Start)
	w.Close(start)
	w.Text("connectFromField", f.trail.From)
	w.Text("connectToField", n.sort[0].name)
	w.Text("as", "row")
	if f.trail.Depth > 0 {
		w.Int64("maxDepth", int64(f.trail.Depth-1))
	}
	match := w.Open("restrictSearchWithMatch")
	for i, c := range n.part {
		w.Value(c.name, partition[i])
	}
	for _, c := range n.sort[1:] {
		w.TextIn(c.name, "$type", typeNames[c.kind])
	}
	w.Close(match)
	w.Close(at)
}

// read yields the rows of an answer, and reports whether there are more to be had.
func (f *following) read(ctx context.Context, b *batch) (more bool, err error) {
	var row driver.Row
	readers := make([]*reader, len(f.views))
	for i, v := range f.views {
		readers[i] = f.store.newReader(v, nil)
	}
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		in := bson.ElementsOf(e.Data)
		d, ok := in.Next()
		i, err := strconv.Atoi(d.Name)
		if !ok || err != nil || i >= len(readers) {
			return false, who.Corrupt("follow %s: %s: the answer cannot be read", f.trail.Index.Name, f.store.conn.addr)
		}
		row.Reset()
		if err := readers[i].row(ctx, d.Data, &row); err != nil {
			return false, err
		}
		if !f.yield(i, &row) {
			return false, nil
		}
	}
	return b.more, nil
}
