package tree

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
)

// packed is the strategy of documents.
type packed[T any] struct{}

func (packed[T]) moves(*Node, *Node) *pending                           { return nil }
func (packed[T]) outside(context.Context, *base[T], *Node, *Node) error { return errPacked }
func (packed[T]) finish(context.Context, *base[T], *guard) error        { return nil }

func (packed[T]) ancestors(_ context.Context, t *base[T], g *guard, id string) (list []T, err error) {
	d, err := t.documents.documentOf(g)
	if err != nil {
		return nil, err
	}
	i, err := d.must(id)
	for err == nil && d.node(i).Parent != "" {
		i = d.find(d.node(i).Parent)
		list = append(list, d.list[i])
	}
	slices.Reverse(list)
	return list, err
}

func (s packed[T]) above(ctx context.Context, t *base[T], g *guard, id string) (ids []string, err error) {
	list, err := s.ancestors(ctx, t, g, id)
	for i := range list {
		ids = append(ids, nodeOf(&list[i]).ID)
	}
	return ids, err
}

func (packed[T]) below(_ context.Context, t *base[T], g *guard, n *Node, depth int, emit emitter[T]) error {
	d, err := t.documents.documentOf(g)
	if err != nil {
		return err
	}
	from, to, depths := 0, len(d.list), map[string]int{}
	if n != nil {
		from = d.find(n.ID) + 1
		to = d.end(from - 1)
	}
	for i := from; i < to; i++ {
		at := depths[d.node(i).Parent] + 1
		if depths[d.node(i).ID] = at; depth > 0 && at > depth {
			continue
		}
		if err := emit(&d.list[i], at); err != nil {
			return err
		}
	}
	return nil
}

func (d *document[T]) get(_ context.Context, id string) (rec T, err error) {
	i, err := d.must(id)
	if err != nil {
		return rec, err
	}
	return d.list[i], nil
}

func (d *document[T]) children(_ context.Context, parent string, reversed bool) iter.Seq2[T, error] {
	list := d.childrenOf(parent)
	if reversed {
		slices.Reverse(list)
	}
	return func(yield func(T, error) bool) {
		for _, i := range list {
			if !yield(d.list[i], nil) {
				return
			}
		}
	}
}

// page has cursors of its own: a position among children is a child, since a document keeps no places.
func (d *document[T]) page(_ context.Context, parent string, most int, cursor string) (page repo.Page[T], err error) {
	if most < 0 {
		return page, fmt.Errorf("limit %d: %w", most, repo.ErrInvalid)
	}
	most = cmp.Or(most, limit.DefaultPage)
	list := d.childrenOf(parent)
	from, to := 0, min(most, len(list))
	if cursor != "" {
		where, id, ok := d.parseCursor(parent, cursor)
		at := slices.IndexFunc(list, func(i int) bool { return d.node(i).ID == id })
		switch {
		case !ok:
			return page, badCursor("damaged, or of another list or of the tree before it was converted")
		case at < 0:
			return page, badCursor("of a sibling that was deleted or moved")
		case where == after:
			from, to = at+1, min(at+1+most, len(list))
		default:
			from, to = max(0, at-most), at
		}
	}
	page.Items = []T{}
	for _, i := range list[from:to] {
		page.Items = append(page.Items, d.list[i])
	}
	if to < len(list) && to > 0 {
		page.Next = d.cursorOf(parent, after, d.node(list[to-1]).ID)
	}
	if from > 0 && from < len(list) {
		page.Prev = d.cursorOf(parent, before, d.node(list[from]).ID)
	}
	return page, nil
}

func badCursor(what string) error {
	return fmt.Errorf("the cursor is %s; begin again without one: %w: %w", what, repo.ErrCursor, repo.ErrInvalid)
}

// cursorBytes is how much of a hash a cursor has, which ties it to its list.
const cursorBytes = 8

// cursorOf returns the cursor after or before a child. Forged, it shows no page but those of the list.
func (d *document[T]) cursorOf(parent string, where byte, id string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q", d.tree.forest.schema.Collection, d.tree.name, parent, where, id)
	return base64.RawURLEncoding.EncodeToString(append(h.Sum(nil)[:cursorBytes:cursorBytes], string(where)+id...))
}

func (d *document[T]) parseCursor(parent, cursor string) (where byte, id string, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) <= cursorBytes {
		return 0, "", false
	}
	where, id = b[cursorBytes], string(b[cursorBytes+1:])
	return where, id, d.cursorOf(parent, where, id) == cursor
}

func (d *document[T]) beside(_ context.Context, id string, where byte) (rec T, err error) {
	i, err := d.must(id)
	if err != nil {
		return rec, err
	}
	list := d.childrenOf(d.node(i).Parent)
	at := slices.Index(list, i) + 1
	if where == before {
		at -= 2
	}
	if at < 0 || at == len(list) {
		return rec, errNoSibling
	}
	return d.list[list[at]], nil
}

func (d *document[T]) hasChild(_ context.Context, id string) (bool, error) {
	return len(d.childrenOf(id)) > 0, nil
}

func (d *document[T]) named(_ context.Context, parent, name string) (rec T, ok bool, err error) {
	by := cmp.Or(d.tree.forest.schema.Name, "id")
	for _, i := range d.childrenOf(parent) {
		x, err := d.field(i, by)
		if err != nil || x == any(name) {
			return d.list[i], err == nil, err
		}
	}
	return rec, false, nil
}

// field returns a field of a node, nil if it is absent.
func (d *document[T]) field(i int, name string) (any, error) {
	shape, rec := d.tree.forest.shape, reflect.ValueOf(&d.list[i]).Elem()
	at := slices.IndexFunc(shape.fields, func(f *record.Field) bool { return f.Name == name })
	switch {
	case at < 0 && shape.extra == nil:
		return d.rest[d.node(i).ID][name], nil
	case at < 0:
		return rec.FieldByIndex(shape.extra).Interface().(map[string]any)[name], nil
	}
	v, err := shape.fields[at].Of(rec)
	if err != nil || v.IsNone() {
		return nil, err
	}
	return record.AnyOf(v)
}
