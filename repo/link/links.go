package link

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/polystore/polystore/repo"
)

// Links are the links of a collection. T is a struct with the fields of the two ends and any others. Make one with
// [Open].
type Links[T any] struct {
	repo   *repo.Repo[T]
	schema Schema
}

// Open opens the links of a schema, and makes their collection if it is not there. Faults of the schema are ErrSchema.
// Programs that share the links state the same ends and orders.
func Open[T any](ctx context.Context, store *repo.Store, schema Schema, opts ...repo.OpenOption) (*Links[T], error) {
	if err := schema.complete(reflect.TypeFor[T]()); err != nil {
		return nil, &repo.Error{Op: "open", Collection: schema.Collection, Err: err}
	}
	r, err := repo.Open[T](ctx, store, schema.records(), opts...)
	if err != nil {
		return nil, err
	}
	return &Links[T]{r, schema}, nil
}

// Repo returns the repository of the links: for groups with other records, views, patches, expiry and upkeep. The key of
// a link is its From and its To.
func (l *Links[T]) Repo() *repo.Repo[T] {
	if l == nil {
		return nil
	}
	return l.repo
}

// Add adds a link. A link between the same ends, in the same direction, is ErrExists: see [repo.Repo.Insert].
func (l *Links[T]) Add(ctx context.Context, link *T) error { return l.Repo().Insert(ctx, link) }

// Put adds a link, or writes it over the one that is there: see [repo.Repo.Put]. A caller who heard nothing may put the
// link again.
func (l *Links[T]) Put(ctx context.Context, link *T, opts ...repo.WriteOption) error {
	return l.Repo().Put(ctx, link, opts...)
}

// Get returns the link between two ends, or ErrNotFound.
func (l *Links[T]) Get(ctx context.Context, from, to any) (T, error) {
	return l.Repo().Get(ctx, repo.Key{from, to})
}

// Update changes the link between two ends by fn, which leaves the ends as they are: see [repo.Repo.Update].
func (l *Links[T]) Update(ctx context.Context, from, to any, fn func(link *T) error, opts ...repo.WriteOption) (T, error) {
	return l.Repo().Update(ctx, repo.Key{from, to}, fn, opts...)
}

// Remove removes the link between two ends. If there is none, Remove is ErrNotFound.
func (l *Links[T]) Remove(ctx context.Context, from, to any) error {
	return l.Repo().Delete(ctx, repo.Key{from, to}, repo.IfExists())
}

// RemoveAll removes the links that a query finds, such as all of an end that is deleted: l.From(id), and then l.To(id)
// if the end is also one of the other side. It returns how many it removed. It reads the links in pages and removes them
// in batches, so there may be any number.
//
// If it fails, what was removed stays removed, and another call removes the rest. A link that is added meanwhile may
// stay, so delete the end first. A link that somebody else removes meanwhile may be counted.
func (l *Links[T]) RemoveAll(ctx context.Context, q repo.Query) (int, error) {
	return l.Repo().DeleteAll(ctx, l.Repo().Keys(ctx, q))
}

// From returns the query for the links from an end, in the order of the schema. It can be narrowed like every query: by
// a limit, or by bounds of the first field of the order.
func (l *Links[T]) From(id any) repo.Query {
	if l == nil {
		return repo.All()
	}
	return repo.Where(l.schema.From, id).Order(l.schema.FromOrder...)
}

// To returns the query for the links to an end, in the order of the schema.
func (l *Links[T]) To(id any) repo.Query {
	if l == nil {
		return repo.All()
	}
	return repo.Where(l.schema.To, id).Order(l.schema.ToOrder...)
}

// Find yields the links that a query finds: see [repo.Repo.Find].
func (l *Links[T]) Find(ctx context.Context, q repo.Query) iter.Seq2[T, error] {
	return l.Repo().Find(ctx, q)
}

// Page returns a page of the links that a query finds: see [repo.Repo.Page].
func (l *Links[T]) Page(ctx context.Context, q repo.Query, cursor string) (repo.Page[T], error) {
	return l.Repo().Page(ctx, q, cursor)
}

// Count returns how many links a query finds: see [repo.Repo.Count].
func (l *Links[T]) Count(ctx context.Context, q repo.Query) (int, error) {
	return l.Repo().Count(ctx, q)
}

// Froms returns the set of all ends from which links go. Its methods narrow it to those with links to others.
func (l *Links[T]) Froms() Set {
	if l == nil || l.repo == nil {
		return Set{}
	}
	return Set{links: &reader{l.repo.Keys, l.repo.Store().Redact, l.schema.Collection, l.schema.From, l.schema.To, 0}}
}

// Tos returns the set of all ends to which links go. Its methods narrow it to those with links from others.
func (l *Links[T]) Tos() Set {
	if l == nil || l.repo == nil {
		return Set{}
	}
	return Set{links: &reader{l.repo.Keys, l.repo.Store().Redact, l.schema.Collection, l.schema.To, l.schema.From, 1}}
}

// A reader reads the members of a set that are linked with an end.
type reader struct {
	keys       func(context.Context, repo.Query) iter.Seq2[repo.Key, error]
	redact     func(error) error
	collection string
	member     string // the field of the members
	other      string // the field of the ends with which they are linked
	at         int    // of the members in keys
}

// failed makes an error an *Error. Errors of package repo stay as they are.
func (r *reader) failed(err error) error {
	if _, ok := errors.AsType[*repo.Error](err); ok || err == nil {
		return err
	}
	e := &repo.Error{Op: "set", Retryable: errors.Is(err, repo.ErrTimeout), Err: err}
	if r != nil {
		e.Collection, e.Err = r.collection, r.redact(err)
	}
	return e
}

func invalid(text string, args ...any) error {
	return fmt.Errorf(text+": %w", append(args, repo.ErrInvalid)...)
}
