package geo

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/polystore/polystore/repo"
)

// A Page is a part of what a query finds, in the query's order.
type Page[T any] struct {
	Items []T
	Next  string // cursor of the page after this one, "" at the end
}

const defaultPage = 50

// Page returns the page of a query that a cursor names; "" names the first page. The query's limit is the size of the
// page, 50 if the query has none. A cursor is the position after a record: while others come and go, a record that
// stays in its place is shown once. A page reads again what is in the cells in which the page before ended.
//
// A cursor holds a place, and at a place with many records a cursor of package repo, which has a key. It is not
// signed: who forges one begins elsewhere in the same query. A damaged cursor, or the cursor of another query, is
// ErrCursor. Items of a page without records is empty, not nil.
func (p *Places[T]) Page(ctx context.Context, q Query, cursor string) (Page[T], error) {
	page, err := Page[T]{Items: []T{}}, p.check(ctx, q)
	if err == nil {
		if q.limit == 0 {
			q.limit = defaultPage
		}
		err = p.fill(ctx, q, cursor, &page)
	}
	if err != nil {
		return Page[T]{Items: []T{}}, p.failed("page", err)
	}
	return page, nil
}

func (p *Places[T]) fill(ctx context.Context, q Query, cursor string, page *Page[T]) error {
	var after *position
	if cursor != "" {
		last, inner, err := q.position(cursor)
		if err != nil {
			return err
		}
		if after = &last; inner != "" {
			if full, err := p.more(ctx, q, last.code, inner, page); err != nil || full {
				return err
			}
		}
	}
	for g, err := range p.groups(ctx, q, after, q.limit+1) {
		if err == nil && !g.whole && len(page.Items) == q.limit { // only what is there makes another page
			if _, err = p.repo.First(ctx, p.single(q, g.code)); errors.Is(err, repo.ErrNotFound) {
				continue
			}
		}
		switch {
		case err != nil:
			return err
		case len(page.Items) == q.limit:
			page.Next = q.cursor(after.code, "")
			return nil
		case g.whole && len(page.Items)+len(g.records) <= q.limit:
			page.Items = append(page.Items, g.records...)
		default:
			if full, err := p.more(ctx, q, g.code, "", page); err != nil || full {
				return err
			}
		}
		after = &g.position
	}
	return nil
}

// more adds records at one spot, by a page of package repo. It reports whether the spot has even more.
func (p *Places[T]) more(ctx context.Context, q Query, code uint64, inner string, page *Page[T]) (bool, error) {
	part, err := p.repo.Page(ctx, p.single(q, code).Limit(q.limit-len(page.Items)), inner)
	if err != nil {
		return false, err
	}
	if page.Items = append(page.Items, part.Items...); part.Next != "" {
		page.Next = q.cursor(code, part.Next)
	}
	return part.Next != "", nil
}

// How many bytes of a cursor are a hash, which ties it to its query, and a code.
const (
	sumBytes  = 8
	codeBytes = 8
)

func (q Query) cursor(code uint64, inner string) string {
	b := append(binary.BigEndian.AppendUint64(nil, code), inner...)
	return base64.RawURLEncoding.EncodeToString(append(q.sum(b), b...))
}

func (q Query) position(cursor string) (position, string, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err == nil && len(b) >= sumBytes+codeBytes && string(b[:sumBytes]) == string(q.sum(b[sumBytes:])) &&
		base64.RawURLEncoding.EncodeToString(b) == cursor {
		code := binary.BigEndian.Uint64(b[sumBytes:])
		if rank, ok := q.region.rank(spotOf(code)); ok {
			return position{rank, code}, string(b[sumBytes+codeBytes:]), nil
		}
	}
	return position{}, "", fmt.Errorf("the cursor is damaged, or belongs to another query; begin again without one: %w: %w", repo.ErrCursor, repo.ErrInvalid)
}

func (q Query) sum(b []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %x", q.String(), b)
	return h.Sum(nil)[:sumBytes]
}
