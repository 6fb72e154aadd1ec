package nested

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/polystore/polystore/repo"
)

// A Page is a part of what a query finds, in the order of the texts of the keys.
type Page[T any] struct {
	Items []T
	Next  string // cursor of the page after this one, "" at the end
}

const defaultPage = 50

// Page returns the page of a query that a cursor names; "" names the first page. The query's limit is the size of
// the page, 50 if the query has none. A cursor is the position after a record: while others come and go, a record
// that stays is shown once.
//
// A cursor holds the text of a key. It is not signed: who forges one begins at another record of the same query. A
// damaged cursor, or the cursor of another query, is ErrCursor. Items of a page without records is empty, not nil.
func (c *Collection[T]) Page(ctx context.Context, q Query, cursor string) (Page[T], error) {
	page := Page[T]{Items: []T{}}
	tests, err := c.shape.testsOf(q)
	if err != nil {
		return page, c.failed("page", err)
	}
	above, err := c.ownerIn(cursor, tests, q.near)
	if err != nil {
		return page, c.failed("page", err)
	}
	size := q.limit
	if size == 0 {
		size = defaultPage
	}
	last, q := "", q.Limit(size+1) // one more, which says whether there is a next page
	for m, err := range c.matches(ctx, tests, q, above) {
		if err != nil {
			return Page[T]{Items: []T{}}, err
		}
		if len(page.Items) == size {
			page.Next = c.cursorOf(last, tests, q.near)
			break
		}
		page.Items, last = append(page.Items, m.record), m.owner
	}
	return page, nil
}

// sumBytes is how much of a hash a cursor has, which ties the cursor to its query.
const sumBytes = 8

func (c *Collection[T]) cursorOf(owner string, tests []test, near int) string {
	return base64.RawURLEncoding.EncodeToString(append(c.sum(owner, tests, near), owner...))
}

func (c *Collection[T]) ownerIn(cursor string, tests []test, near int) (string, error) {
	if cursor == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) <= sumBytes || strings.ContainsAny(cursor, "\r\n") {
		return "", fmt.Errorf("the text is no cursor; begin again without one: %w: %w", repo.ErrCursor, repo.ErrInvalid)
	}
	owner := string(b[sumBytes:])
	if _, ok := c.shape.keyOf(owner); !ok || string(c.sum(owner, tests, near)) != string(b[:sumBytes]) {
		return "", fmt.Errorf("the cursor is damaged, or belongs to another query; begin again without one: %w: %w", repo.ErrCursor, repo.ErrInvalid)
	}
	return owner, nil
}

func (c *Collection[T]) sum(owner string, tests []test, near int) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d", c.schema.Records.Collection, owner, near)
	for _, t := range tests {
		fmt.Fprintf(h, " %q %d %q", c.shape.fields[t.field].name, t.value.kind, t.value.text)
	}
	return h.Sum(nil)[:sumBytes]
}
