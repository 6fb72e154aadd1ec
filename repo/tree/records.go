package tree

import (
	"context"
	"errors"
	"iter"

	"github.com/polystore/polystore/repo"
)

// records is the source of trees whose nodes are records.
type records[T any] struct{ *base[T] }

func (t records[T]) get(ctx context.Context, id string) (T, error) {
	rec := new(T)
	err := t.into(ctx, id, rec)
	return *rec, err
}

// into reads a node into a zero record.
func (t records[T]) into(ctx context.Context, id string, rec *T) (err error) {
	if *rec, err = t.forest.reads.Get(ctx, t.key(id)); err == nil && nodeOf(rec).State == gone {
		err = errGone
	}
	if err != nil {
		*rec = *new(T)
	}
	return err
}

func (t records[T]) children(ctx context.Context, parent string, reversed bool) iter.Seq2[T, error] {
	q := t.childrenOf(parent)
	if reversed {
		q = t.lastOf(parent)
	}
	return t.there(t.forest.reads.Find(ctx, q))
}

// there yields the nodes of a list that are not being deleted.
func (t records[T]) there(list iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for rec, err := range list {
			if err == nil && nodeOf(&rec).State == gone {
				continue
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// page leaves out what is being deleted, so that a page may be short.
func (t records[T]) page(ctx context.Context, parent string, limit int, cursor string) (repo.Page[T], error) {
	page, err := t.forest.reads.Page(ctx, t.childrenOf(parent).Limit(limit), cursor)
	kept := page.Items[:0]
	for i := range page.Items {
		if nodeOf(&page.Items[i]).State != gone {
			kept = append(kept, page.Items[i])
		}
	}
	page.Items = kept
	return page, err
}

func (t records[T]) beside(ctx context.Context, id string, where byte) (rec T, err error) {
	n, err := t.present(ctx, id)
	if err != nil {
		return rec, err
	}
	q, own := t.childrenOf(n.Parent).AtLeast("place", n.Place).Order("place"), false
	if where == before {
		q = t.childrenOf(n.Parent).AtMost("place", n.Place).Order("-place")
	}
	for other, err := range t.forest.reads.Find(ctx, q) {
		if err != nil {
			return rec, err
		}
		at := nodeOf(&other)
		if own && at.State != gone {
			return other, nil
		}
		own = own || at.ID == id
	}
	if !own {
		return rec, errAgain // it was moved meanwhile
	}
	return rec, errNoSibling
}

func (t records[T]) named(ctx context.Context, parent, name string) (rec T, ok bool, err error) {
	if t.forest.schema.Name == "" {
		rec, err := t.get(ctx, name)
		if errors.Is(err, repo.ErrNotFound) {
			return rec, false, nil
		}
		return rec, err == nil && nodeOf(&rec).Parent == parent, err
	}
	q := repo.Where("tree", t.name).Where("parent", parent).Where(t.forest.schema.Name, name).Order("place")
	for rec, err := range t.there(t.forest.reads.Find(ctx, q)) {
		return rec, err == nil, err
	}
	return rec, false, nil
}

// every yields all nodes of the tree, in any order.
func (t records[T]) every(ctx context.Context) iter.Seq2[T, error] {
	if t.forest.schema.Spread {
		return t.forest.reads.Scan(ctx, repo.Where("tree", t.name))
	}
	return t.forest.reads.Find(ctx, repo.Where("tree", t.name))
}
