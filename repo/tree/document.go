package tree

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/record"
)

// A document is a tree whose nodes lie in its guard, in depth-first order. Each change of a node or of the structure
// writes it whole.
type document[T any] struct {
	tree    *base[T]
	list    []T
	rest    map[string]map[string]any // by ID, the fields that T lacks
	version repo.Version              // after it was written
}

var errNoID = fmt.Errorf("a node without an ID: %w", repo.ErrInvalid)

// A shape is what a document keeps of records: the place of a node follows from the order.
type shape struct {
	fields []*record.Field
	extra  []int // the index of the field that has what others declare, nil if there is none
}

func shapeOf[T any]() (shape, error) {
	all, err := record.ShapeOf(reflect.TypeFor[T](), reflect.TypeFor[repo.Version]())
	if err != nil {
		return shape{}, err
	}
	if all.Expires != nil {
		return shape{}, fmt.Errorf("a node that expires would leave what is below it; delete it when its time has come: %w", repo.ErrSchema)
	}
	s := shape{extra: all.Extra}
	for i := range all.Fields {
		if f := &all.Fields[i].Field; f.Name == "parent" || !isOwn(f.Name) {
			s.fields = append(s.fields, f)
		}
	}
	return s, nil
}

// pack returns the nodes as a guard has them.
func (d *document[T]) pack() ([]map[string]any, error) {
	shape, nodes := d.tree.forest.shape, make([]map[string]any, len(d.list))
	for i := range d.list {
		nodes[i] = map[string]any{}
		maps.Copy(nodes[i], d.rest[d.node(i).ID])
		if err := shape.pack(&d.list[i], nodes[i]); err != nil {
			return nil, driver.Errorf("node %q: %w", driver.Private(d.node(i).ID), err)
		}
	}
	return nodes, nil
}

// pack adds the fields of a record that a document keeps.
func (s *shape) pack(rec any, fields map[string]any) error {
	v := reflect.ValueOf(rec).Elem()
	if s.extra != nil {
		maps.Copy(fields, v.FieldByIndex(s.extra).Interface().(map[string]any))
	}
	for _, f := range s.fields {
		x, err := f.Of(v)
		if delete(fields, f.Name); err == nil && !x.IsNone() {
			fields[f.Name], err = record.AnyOf(x)
		}
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

func (d *document[T]) node(i int) *Node { return nodeOf(&d.list[i]) }

// find returns where a node is, len(d.list) if it is not there.
func (d *document[T]) find(id string) int {
	for i := range d.list {
		if d.node(i).ID == id {
			return i
		}
	}
	return len(d.list)
}

// must is find, or ErrNotFound.
func (d *document[T]) must(id string) (int, error) {
	i := d.find(id)
	if i == len(d.list) {
		return 0, driver.Errorf("node %q: %w", driver.Private(id), repo.ErrNotFound)
	}
	return i, nil
}

// end returns where what lies below a node ends; of -1 that is the end of the tree.
func (d *document[T]) end(i int) int {
	if i < 0 {
		return len(d.list)
	}
	in := map[string]bool{d.node(i).ID: true}
	for i++; i < len(d.list) && in[d.node(i).Parent]; i++ {
		in[d.node(i).ID] = true
	}
	return i
}

// below returns the indexes of the children of a node.
func (d *document[T]) childrenOf(id string) (list []int) {
	for i := range d.list {
		if d.node(i).Parent == id {
			list = append(list, i)
		}
	}
	return list
}

// put lays nodes, of which the first is the uppermost, at a position.
func (d *document[T]) put(pos Position, nodes []T) error {
	top, at := nodeOf(&nodes[0]), -1
	var err error
	switch pos.where {
	case atEnd, atStart:
		if top.Parent = pos.parent; pos.parent != "" {
			if at, err = d.must(pos.parent); err != nil {
				return err
			}
		}
		if pos.where == atEnd {
			at = d.end(at)
		} else {
			at++
		}
	case before, after:
		if at, err = d.must(pos.sibling); err != nil {
			return err
		}
		if top.Parent = d.node(at).Parent; pos.where == after {
			at = d.end(at)
		}
	default:
		return errNoPosition
	}
	if d.tree.forest.order != nil {
		if pos.where != atEnd {
			return d.tree.spots.unsorted(pos)
		}
		if at, err = d.sorted(&nodes[0], at); err != nil {
			return err
		}
	}
	d.list = slices.Insert(d.list, at, nodes...)
	return nil
}

// sorted returns where a node comes among its siblings, which end at an index.
func (d *document[T]) sorted(rec *T, end int) (int, error) {
	order, id := d.tree.forest.order, nodeOf(rec).ID
	place, err := order.placeOf(rec)
	if err != nil {
		return 0, err
	}
	for _, i := range d.childrenOf(nodeOf(rec).Parent) {
		other, err := order.placeOf(&d.list[i])
		if err != nil {
			return 0, err
		}
		if cmp.Or(cmp.Compare(place, other), cmp.Compare(id, d.node(i).ID)) < 0 {
			return i, nil
		}
	}
	return end, nil
}

// cut takes a node out, with all that is below it.
func (d *document[T]) cut(i int) []T {
	end := d.end(i)
	nodes := slices.Clone(d.list[i:end])
	d.list = slices.Delete(d.list, i, end)
	return nodes
}

func (d *document[T]) insert(pos Position, rec *T) error {
	n := nodeOf(rec)
	switch n.ID {
	case "":
		return errNoID
	case pos.sibling:
		return errBesideItself
	}
	there := d.find(n.ID) < len(d.list)
	n.Tree, n.Kept = d.tree.name, Kept{}
	if err := n.tooLong(); err != nil {
		return err
	}
	one := []T{*rec}
	if err := d.put(pos, one); err != nil {
		return err
	}
	if n.Parent = nodeOf(&one[0]).Parent; there {
		return repo.ErrExists
	}
	return nil
}

// load adds nodes, parents before their children.
func (d *document[T]) load(list []T) error {
	children, known := map[string][]*T{}, map[string]bool{"": true}
	for i := range d.list {
		n := d.node(i)
		children[n.Parent], known[n.ID] = append(children[n.Parent], &d.list[i]), true
	}
	into := func(rec T) error {
		n := nodeOf(&rec)
		switch {
		case n.ID == "":
			return errNoID
		case !known[n.Parent]:
			return errNoParent(n)
		case known[n.ID]:
			return repo.ErrExists
		}
		n.Tree, n.Version, n.Kept = d.tree.name, repo.Version{}, Kept{}
		if err := n.tooLong(); err != nil {
			return err
		}
		children[n.Parent], known[n.ID] = append(children[n.Parent], &rec), true
		return nil
	}
	for i := range list {
		if err := into(list[i]); err != nil {
			return driver.Errorf("node %q: %w", driver.Private(nodeOf(&list[i]).ID), err)
		}
	}
	if err := d.sort(children); err != nil {
		return err
	}
	d.list = d.list[:0:0]
	return emitAll(children, "", 0, func(rec *T, _ int) error {
		d.list = append(d.list, *rec)
		return nil
	})
}

// sort sorts lists of siblings, if the schema does.
func (d *document[T]) sort(children map[string][]*T) error {
	if d.tree.forest.order == nil {
		return nil
	}
	type sibling struct {
		place, id string
		rec       *T
	}
	for parent, list := range children {
		sorted := make([]sibling, len(list))
		for i := range list {
			id := nodeOf(list[i]).ID
			place, err := d.tree.forest.order.placeOf(list[i])
			if err != nil {
				return driver.Errorf("node %q: %w", driver.Private(id), err)
			}
			sorted[i] = sibling{place, id, list[i]}
		}
		slices.SortFunc(sorted, func(a, b sibling) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id)) })
		for i := range sorted {
			children[parent][i] = sorted[i].rec
		}
	}
	return nil
}

func (d *document[T]) move(id string, pos Position) error {
	i, err := d.must(id)
	if err != nil {
		return err
	}
	if id == pos.sibling {
		return errBesideItself
	}
	for j, end := i, d.end(i); j < end; j++ {
		if other := d.node(j).ID; other == pos.parent || other == pos.sibling {
			return ErrBelowItself
		}
	}
	return d.put(pos, d.cut(i))
}

func (d *document[T]) update(id string, fn func(*T) error) (rec T, err error) {
	i, err := d.must(id)
	if err != nil {
		return rec, err
	}
	if err := d.tree.writes.changed(&d.list[i], fn); err != nil {
		return rec, err
	}
	if rec = d.list[i]; d.tree.forest.order != nil {
		err = d.put(Under(d.node(i).Parent), d.cut(i))
	}
	return rec, err
}

func (d *document[T]) delete(id string, leaf bool) error {
	i, err := d.must(id)
	if err != nil {
		return err
	}
	if leaf && d.end(i) > i+1 {
		return ErrHasChildren
	}
	d.cut(i)
	return nil
}

func (d *document[T]) lift(id string) error {
	i, err := d.must(id)
	if err != nil {
		return err
	}
	parent, ids := d.node(i).Parent, []string{}
	for _, j := range d.childrenOf(id) {
		d.node(j).Parent = parent
		ids = append(ids, d.node(j).ID)
	}
	if d.list = slices.Delete(d.list, i, i+1); d.tree.forest.order == nil {
		return nil
	}
	var lifted [][]T
	for _, id := range ids {
		lifted = append(lifted, d.cut(d.find(id)))
	}
	for _, nodes := range lifted {
		if err := d.put(Under(parent), nodes); err != nil {
			return err
		}
	}
	return nil
}
