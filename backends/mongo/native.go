package mongo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	mongobson "go.mongodb.org/mongo-driver/v2/bson"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A native index is an index of the collection of its home, by the name of its table:
// the fields that Partition and Sort name and, unless it is unique, _id, whose order is
// that of the keys. It holds only documents that have all of these fields: a record
// without one has no entry, and what is dead has none of them.

// A native is a native index as a view reads it.
type native struct {
	table  *driver.Table
	part   []keyField
	sort   []keyField
	unique bool
	claims []string // fields of a unique one that are not part of the record's key
}

// A keyField is a field of a native index.
type keyField struct {
	name string
	kind driver.Kind
	desc bool
	elem bool // each element of the list
}

func keyFields(cols []driver.Column) []keyField {
	list := make([]keyField, len(cols))
	for i, c := range cols {
		name, elem := strings.CutSuffix(c.Name, "[]")
		list[i] = keyField{name, c.Kind, c.Desc, elem}
	}
	return list
}

func newNative(t *driver.Table) *native {
	n := &native{table: t, part: keyFields(t.Partition), sort: keyFields(t.Sort), unique: t.Class == driver.Claims}
	for _, f := range n.fields() {
		if slices.ContainsFunc(t.Home.Fields, func(c driver.Column) bool { return n.unique && c.Name == f.name }) {
			n.claims = append(n.claims, f.name)
		}
	}
	return n
}

func (n *native) fields() []keyField { return slices.Concat(n.part, n.sort) }

// Native makes a native index exist, or sees that it does.
func (s *store) Native(ctx context.Context, doing string, t *driver.Table, define bool) (*view, error) {
	if err := s.possibleNative(t); err != nil {
		return nil, err
	}
	have, err := s.catalog.entries(ctx, doing, []*driver.Table{t.Home})
	if err != nil {
		return nil, err
	}
	home := have[t.Home.Name]
	if missing, err := home.lacks(t.Home); err != nil || home.Header == "" || !home.made || len(missing) > 0 {
		return nil, cmp.Or(err, who.Schema("%s %s: its home %s is not there as it is declared; define it first", doing, t.Name, t.Home.Name))
	}
	v := s.newView(t.Home, home)
	v.native = newNative(t)
	there, err := s.isThere(ctx, doing, v)
	switch {
	case err != nil:
		return nil, err
	case !there && !define:
		return nil, who.Schema("%s %s: there is no such index; define it first", doing, t.Name)
	case !there:
		err = s.noneLate(ctx, v)
	}
	if err == nil && define { // one that is listed may be built still, and then this waits for it
		err = s.create(ctx, v)
	}
	return v, err
}

// possibleNative says what this store cannot have in a native table.
func (s *store) possibleNative(t *driver.Table) error {
	if !s.facts.Native.Has {
		return who.Unsupported("table %s: a native index: %s", t.Name, s.facts.Native.Reason)
	}
	for _, c := range t.Sort {
		if !slices.Contains(orderedKinds[:], c.Kind) {
			return who.Unsupported("native index %s: MongoDB has another order of %s than a key, which %s is", t.Name, c.Kind, c.Name)
		}
	}
	for _, f := range keyFields(slices.Concat(t.Partition, t.Sort)) {
		if !possibleName(f.name) {
			return who.Unsupported("native index %s: documents cannot have a field of the name %q", t.Name, f.name)
		}
	}
	return nil
}

// orderedKinds are those whose order in MongoDB is that of a key. Bytes there are
// ordered by their length first.
var orderedKinds = [...]driver.Kind{driver.Bool, driver.Int, driver.Float, driver.String, driver.Time}

func (f *keyField) direction(reverse bool) int32 {
	if f.desc != reverse {
		return -1
	}
	return 1
}

// create builds the index of a view, which the server fills.
func (s *store) create(ctx context.Context, v *view) error {
	conn, name := s.conn, v.native.table.Name
	w := command("createIndexes", v.collection)
	w.OpenList("indexes")
	w.Open("0")
	directions(&w, "key", v.native.all(), false)
	w.Text("name", name)
	if v.native.unique {
		w.Bool("unique", true)
	}
	w.Open("partialFilterExpression")
	for _, f := range v.native.fields() {
		w.BoolIn(f.name, "$exists", true)
	}
	if err := conn.free(ctx, "define "+name, v.collection); err != nil {
		return err
	}
	long, stop := building(ctx)
	defer stop()
	// another program may build one of this name, too, and drop it meanwhile
	err := conn.insist(long, durable(&w), codeBuildAborted, 20*time.Millisecond)
	switch codeOf(err) {
	case 0:
		return conn.failed(ctx, "define "+name, err)
	case codeDuplicateKey:
		return fmt.Errorf("mongo: define %s: two records have the same values in a unique index; change one of them: %w: %w", name, driver.ErrExists, told(err))
	case codeIndexConflict, codeIndexKeyConflict:
		return who.Schema("define %s: the collection %s has an index of these fields, or of this name, that another program made; remove that: %s", name, v.collection, err)
	case codeCannotIndex, codeTooManyIndexes:
		return who.Unsupported("define %s: %s", name, err)
	}
	return conn.failed(ctx, "define "+name, err)
}

// noneLate sees that no document has a field of a native index where it lay before it
// was declared, in which MongoDB does not look for it.
func (s *store) noneLate(ctx context.Context, v *view) error {
	for _, f := range v.native.fields() {
		i, ok := v.Ordinals[f.name]
		if !ok || !v.Late[i] {
			continue
		}
		w := command("find", v.collection)
		filter := w.Open("filter", v.extra[i])
		w.Bool("$exists", true)
		w.Close(filter)
		w.Int64("limit", 1)
		b, err := s.conn.documents(ctx, "define "+v.native.table.Name, s.conn.acknowledged(&w))
		if err != nil {
			return err
		}
		if e, ok := b.rest.Next(); ok {
			return who.Unsupported("define %s: the document %.200q of the collection %s has %s from before it was declared, in %s; write such records again, or take kind table",
				v.native.table.Name, driver.Private(idIn(e.Data)), v.collection, f.name, v.extra[i])
		}
	}
	return nil
}

// isThere reports whether the collection has the index. One of the name that is another is ErrSchema.
func (s *store) isThere(ctx context.Context, doing string, v *view) (bool, error) {
	w := command("listIndexes", v.collection)
	w.Open("cursor")
	w.Int32("batchSize", mostIndexes)
	b, err := s.conn.documents(ctx, doing, w.End())
	if err != nil {
		return false, err
	}
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		var have listed
		if err := mongobson.Unmarshal([]byte(e.Data), &have); err != nil || have.Name != v.native.table.Name {
			continue
		}
		if want := v.native.text(); have.String() != want {
			return false, fmt.Errorf("mongo: %w; the index has %s, not %s", frame.OtherKey(v.native.table), have.String(), want)
		}
		return true, nil
	}
	return false, nil
}

// mostIndexes is one more than a collection can have.
const mostIndexes = 65

// A listed index is one as the server lists it.
type listed struct {
	Name      string
	Key       mongobson.D
	Unique    bool
	Partial   mongobson.D `bson:"partialFilterExpression"`
	Collation mongobson.Raw
}

func (x *listed) String() string {
	key, partial := "", ""
	for _, e := range x.Key {
		key += fmt.Sprintf(" %s %v", e.Key, e.Value)
	}
	if x.Collation != nil {
		key += " with a collation"
	}
	for _, e := range x.Partial {
		partial += " " + e.Key
	}
	return fmt.Sprintf("{%s}, unique %v, where {%s} exist", key, x.Unique, partial)
}

// text returns what a listed index has of the index of n.
func (n *native) text() string {
	x := listed{Unique: n.unique}
	for _, f := range n.all() {
		x.Key = append(x.Key, mongobson.E{Key: f.name, Value: f.direction(false)})
	}
	for _, f := range n.fields() {
		x.Partial = append(x.Partial, mongobson.E{Key: f.name})
	}
	return x.String()
}
