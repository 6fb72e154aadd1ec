package tree

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/record"
)

// An order makes the places of nodes from their fields: the text that the key of an order has for them.
type order struct {
	fields  []*record.Field
	columns []driver.Column
}

// orderOf compiles the fields by which a schema sorts siblings, nil if it does not.
func orderOf[T any](sorted []string) (*order, error) {
	if len(sorted) == 0 {
		return nil, nil
	}
	shape, err := record.ShapeOf(reflect.TypeFor[T](), reflect.TypeFor[repo.Version]())
	if err != nil {
		return nil, err
	}
	o := &order{}
	for _, text := range sorted {
		name, desc := strings.CutPrefix(text, "-")
		f := fieldOf(shape, name)
		switch {
		case f == nil:
			return nil, fmt.Errorf("sorted by %q: %s has no such field: %w", name, reflect.TypeFor[T](), repo.ErrSchema)
		case !f.IsScalar():
			return nil, fmt.Errorf("sorted by %q: want a number, text, bool or time that is never absent: %w", name, repo.ErrSchema)
		case isOwn(name):
			return nil, fmt.Errorf("sorted by %q: that is a field of the tree's own: %w", name, repo.ErrSchema)
		}
		o.fields = append(o.fields, f)
		o.columns = append(o.columns, driver.Column{Name: name, Kind: f.Kind, Desc: desc})
	}
	return o, nil
}

func fieldOf(shape *record.Mapping, name string) *record.Field {
	for i := range shape.Fields {
		if f := &shape.Fields[i].Field; f.Name == name {
			return f
		}
	}
	return nil
}

// isOwn reports whether a field is one of a [Node] that changes of the tree write.
func isOwn(name string) bool {
	switch name {
	case "tree", "parent", "place", "path", "ancestors", "left", "right", "state", "refused", "keeps":
		return true
	}
	return false
}

// placeOf returns the place of a record among its siblings.
func (o *order) placeOf(rec any) (string, error) {
	vals := make([]driver.Value, len(o.fields))
	for i, f := range o.fields {
		v, err := f.Of(reflect.ValueOf(rec).Elem())
		if err != nil {
			return "", fmt.Errorf("field %s: %w", f.Name, err)
		}
		vals[i] = v
	}
	text, err := driver.AppendParts(nil, o.columns, vals)
	return string(text), err
}

// An edit changes a record in the commit that moves it: to another one, or back to what it was before a pending change.
type edit[T any] struct {
	to   *T
	back *pending

	had   map[string]any // the fields that it changes, as they were
	hadnt []string
	has   map[string]any // the fields of these two that it has since
}

// differ notes the fields that a record has otherwise than it had.
func (e *edit[T]) differ(s *shape, was map[string]any, rec *T) error {
	e.had, e.has = maps.Clone(was), map[string]any{}
	if err := s.pack(rec, e.has); err != nil {
		return err
	}
	for name := range e.has {
		if _, ok := e.had[name]; !ok {
			e.hadnt = append(e.hadnt, name)
		}
	}
	maps.DeleteFunc(e.had, func(name string, x any) bool {
		y, ok := e.has[name]
		same := ok && reflect.DeepEqual(x, y)
		if same {
			delete(e.has, name)
		}
		return same
	})
	return nil
}

// restore gives a record the fields that it had before a change that is pending, but for those that others have
// changed since.
func (p *pending) restore(rec map[string]any) {
	kept := func(name string) bool {
		x, is := rec[name]
		y, was := p.Has[name]
		a, err := record.EncodeAny(x, 0)
		b, bad := record.EncodeAny(y, 0)
		return is == was && (!is || err == nil && bad == nil && a.Equal(b))
	}
	for name, x := range p.Had {
		if kept(name) {
			rec[name] = x
		}
	}
	for _, name := range p.Hadnt {
		if kept(name) {
			delete(rec, name)
		}
	}
}

// reorder is Update where the place of the node changes with its fields, which is a change of the structure.
func (t writes[T]) reorder(ctx context.Context, id string, fn func(*T) error) (rec T, err error) {
	err = t.again(ctx, func() error {
		g, err := t.guards.settled(ctx)
		if err != nil {
			return err
		}
		if rec, err = t.forest.reads.Get(ctx, t.key(id)); err != nil {
			return err
		}
		was, before := *nodeOf(&rec), map[string]any{}
		if err := t.forest.shape.pack(&rec, before); err != nil {
			return err
		}
		if err := t.changed(&rec, fn); err != nil {
			return err
		}
		var s spot[T]
		if err := t.spots.setParentOf(ctx, &s, &was); err != nil {
			return err
		}
		if s.place, err = t.forest.order.placeOf(&rec); err != nil {
			return err
		}
		changed := rec
		e := edit[T]{to: &changed}
		if err := e.differ(&t.forest.shape, before, &rec); err != nil {
			return err
		}
		return t.moveTo(ctx, &g, &was, s, &e)
	})
	if err != nil {
		return rec, err
	}
	if is, err := t.forest.reads.Get(ctx, t.key(id)); err == nil {
		return is, nil // with its version
	}
	return rec, nil
}
