package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/record"
)

// documents reads and writes a tree that may be a document.
type documents[T any] struct{ *base[T] }

// documentOf returns the nodes of a guard.
func (t documents[T]) documentOf(g *guard) (*document[T], error) {
	d := &document[T]{tree: t.base, list: make([]T, len(g.Nodes)), rest: map[string]map[string]any{}}
	known := map[string]bool{"": true}
	for i, fields := range g.Nodes {
		rec, rest := reflect.ValueOf(&d.list[i]).Elem(), maps.Clone(fields)
		for _, f := range t.forest.shape.fields {
			x, ok := fields[f.Name]
			if delete(rest, f.Name); !ok {
				continue
			}
			v, err := record.EncodeAny(x, 0)
			if err == nil {
				err = f.Set(rec, v)
			}
			if err != nil {
				return nil, fmt.Errorf("node %d of the document: field %s: %w: %w", i, f.Name, err, repo.ErrCorrupt)
			}
		}
		if extra := t.forest.shape.extra; extra != nil && len(rest) > 0 {
			rec.FieldByIndex(extra).Set(reflect.ValueOf(rest))
		} else {
			d.rest[d.node(i).ID] = rest
		}
		n := d.node(i)
		if n.Tree, n.Version = t.name, g.Version; !known[n.Parent] {
			return nil, driver.Errorf("node %q of the document: its parent %q does not come before it: %w", driver.Private(n.ID), driver.Private(n.Parent), repo.ErrCorrupt)
		}
		known[n.ID] = true
	}
	return d, nil
}

// onDocument changes a tree that is a document, and returns the guard as it was.
func (t documents[T]) onDocument(ctx context.Context, change func(d *document[T]) error) (was guard, err error) {
	if err := t.writable(); err != nil || !t.forest.schema.has(Document) {
		return was, err
	}
	err = t.again(ctx, func() (err error) {
		if was, err = t.guards.settled(ctx); err != nil || was.Strategy != Document {
			return err
		}
		d, err := t.documentOf(&was)
		if err != nil {
			return err
		}
		if err := change(d); err != nil {
			return err
		}
		if was.Nodes, err = d.pack(); err != nil {
			return err
		}
		g := t.forest.group()
		next := t.guards.decide(g, &was, nil)
		defer func() { d.version = next.Version }()
		if err = t.writes.commit(ctx, g, ""); errors.Is(err, repo.ErrTooLarge) {
			if e, ok := asError(err); ok {
				err = e.Err // of the guard, which nobody asked for
			}
			return fmt.Errorf("a document of %d nodes is too large; Convert the tree to another strategy: %w", len(d.list), err)
		}
		return err
	})
	return was, err
}

// errPacked says that a node is on its way to a document.
var errPacked = errors.New("the node comes into a document")

// either changes a tree as a document if it is one, and else by its records.
func (t documents[T]) either(ctx context.Context, change func(d *document[T]) error, records func() error) error {
	return t.again(ctx, func() error {
		was, err := t.onDocument(ctx, change)
		if was.Strategy == Document || err != nil {
			return err
		}
		if err = records(); errors.Is(err, repo.ErrNotFound) {
			if lacks := t.guards.known(ctx); lacks != nil {
				return lacks
			}
		}
		if !errors.Is(err, errPacked) && (!t.forest.schema.has(Document) || !errors.Is(err, repo.ErrNotFound)) {
			return err
		}
		g, other := t.guards.settled(ctx)
		if other != nil {
			return other
		}
		if g.Conversions == was.Conversions && !errors.Is(err, errPacked) {
			return err
		}
		return errAgain
	})
}

// A source answers what is about one node, or about the children of one.
type source[T any] interface {
	get(ctx context.Context, id string) (T, error)
	children(ctx context.Context, parent string, reversed bool) iter.Seq2[T, error]
	page(ctx context.Context, parent string, limit int, cursor string) (repo.Page[T], error)
	beside(ctx context.Context, id string, where byte) (T, error)
	hasChild(ctx context.Context, id string) (bool, error)
	countChildren(ctx context.Context, id string) (int, error)
	named(ctx context.Context, parent, name string) (rec T, ok bool, err error)
}

// from calls read with where the nodes are.
func (t documents[T]) from(ctx context.Context, read func(s source[T]) error) error {
	if err := t.made(); err != nil {
		return err
	}
	if !t.forest.schema.has(Document) {
		err := read(t.records)
		if errors.Is(err, repo.ErrNotFound) {
			err = cmp.Or(t.guards.known(ctx), err)
		}
		return err
	}
	return t.guards.stable(ctx, func(g *guard) error {
		s, err := t.sourceOf(g)
		if err != nil {
			return err
		}
		return read(s)
	})
}

func (t documents[T]) sourceOf(g *guard) (source[T], error) {
	if g.Strategy != Document {
		return t.records, nil
	}
	return t.documentOf(g)
}
