package repo

import (
	"context"
)

// A Page is a part of what a query finds, in the query's order.
type Page[T any] struct {
	Items []T
	Next  string // cursor of the page after this one, "" at the end
	Prev  string // cursor of the page before this one, "" at the beginning
}

// Page returns the page of a query that a cursor names; "" names the first page. The query's limit
// is the size of the page, 50 if the query has none. A cursor keeps its position while records come
// and go: no record that stays is left out or shown twice, ties included. A cursor of another
// query, or a cursor that was tampered with, is ErrCursor. Items of a page without records is
// empty, not nil: JSON has [].
func (r *Repo[T]) Page(ctx context.Context, q Query, cursor string) (Page[T], error) {
	return r.on().page(ctx, q, cursor)
}
