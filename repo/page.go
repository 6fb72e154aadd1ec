package repo

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A Page is a part of what a query finds, in the query's order.
type Page[T any] struct {
	Items []T
	Next  string // cursor of the page after this one, "" at the end
	Prev  string // cursor of the page before this one, "" at the beginning
}

const defaultPage = 50

// Page returns the page of a query that a cursor names; "" is the first one. The
// query's limit is the size of the page, 50 if it has none. A cursor stays where
// it is while records come and go: no record that stays is left out or shown
// twice, ties included. A cursor of another query, or one that was tampered with,
// is ErrCursor. Items of a page without records is not nil: JSON has [].
func (r *Repo[T]) Page(ctx context.Context, q Query, cursor string) (Page[T], error) {
	return r.whole().page(ctx, q, cursor)
}

func (v view[T]) page(ctx context.Context, q Query, cursor string) (Page[T], error) {
	k := v.c.begin("page")
	page, err := v.readPage(ctx, &k, q, cursor)
	return page, v.c.end(&k, nil, err)
}

func (v view[T]) readPage(ctx context.Context, k *call, q Query, cursor string) (Page[T], error) {
	if ctx == nil {
		return Page[T]{}, errNoContext
	}
	var page Page[T]
	if q.limit == 0 {
		q.limit = defaultPage
	}
	p, err := v.c.plan(q, v.by)
	if err != nil {
		return page, err
	}
	back, at, err := v.c.parseCursor(&p, cursor)
	if err != nil {
		return page, err
	}
	seal := v.c.sealer(&p)
	p.enter(back, at, cursor != "")
	size := p.limit
	p.limit++ // one more tells whether there is another page
	page.Items = []T{}
	sorts := make([]position, 0, min(size, 256))
	err = v.findBy(ctx, k, &p, func(t *T, at position) bool {
		page.Items, sorts = append(page.Items, *t), append(sorts, at)
		return true
	})
	if err != nil {
		return Page[T]{}, err
	}
	more := len(page.Items) > size
	if more {
		page.Items, sorts = page.Items[:size], sorts[:size]
	}
	page.finish(sorts, back, more, cursor != "", seal)
	if len(sorts) == 0 && cursor != "" {
		page.leadBack(back, at, !p.reverse, seal)
	}
	return page, nil
}

// enter narrows a plan to the rows behind a cursor, or before it.
func (p *plan) enter(back bool, at string, some bool) {
	if back {
		p.reverse = !p.reverse
	}
	if some {
		p.extent = p.behind(at, p.reverse)
	}
}

// finish puts the items in order and makes the cursors.
func (page *Page[T]) finish(sorts []position, back, more, entered bool, seal func(back bool, at position) string) {
	if back {
		slices.Reverse(page.Items)
		slices.Reverse(sorts)
	}
	if len(sorts) == 0 {
		return
	}
	if more || back {
		page.Next = seal(false, sorts[len(sorts)-1])
	}
	if back && more || !back && entered {
		page.Prev = seal(true, sorts[0])
	}
}

// leadBack makes the cursor of an empty page to where it was reached from, the
// record at that place included. Reverse is how the page that it leads to is read.
func (page *Page[T]) leadBack(back bool, at string, reverse bool, seal func(back bool, at position) string) {
	if at == "" {
		return
	}
	place := position(driver.After(at))
	if !reverse {
		last := len(at) - 1
		place = position(at[:last] + string(at[last]-1)) // driver.After of it is at
	}
	if back {
		page.Next = seal(false, place)
	} else {
		page.Prev = seal(true, place)
	}
}

const cursorVersion = 1

// sealer returns a function that makes cursors of a plan's query.
func (c *collection) sealer(p *plan) func(back bool, at position) string {
	sum := c.queryText(p)
	return func(back bool, at position) string {
		head := []byte{cursorVersion, 0}
		if back {
			head[1] = 1
		}
		body := append(head, at...)
		return base64.RawURLEncoding.EncodeToString(append(body, c.store.seal(body, sum)...))
	}
}

// queryText returns what a cursor must agree with: collection, table, run, order.
func (c *collection) queryText(p *plan) []byte {
	text := []byte(p.table.Name)
	for _, s := range []string{p.parts[0].Partition, p.from, p.to} {
		text = append(append(text, 0), s...)
	}
	if p.reverse {
		text = append(text, 1)
	}
	return text
}

// parseCursor returns the direction and position of a cursor of the plan's query.
func (c *collection) parseCursor(p *plan, cursor string) (back bool, at string, err error) {
	if cursor == "" {
		return false, "", nil
	}
	if len(cursor) > 8*maxKey || strings.ContainsAny(cursor, "\r\n") { // which base64 would overlook
		return false, "", badCursor("is longer than any of ours")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	size := c.store.sealSize()
	if err != nil || len(raw) < 2+size || raw[0] != cursorVersion || raw[1] > 1 {
		return false, "", badCursor("is damaged")
	}
	body, sum := raw[:len(raw)-size], raw[len(raw)-size:]
	if !hmac.Equal(sum, c.store.seal(body, c.queryText(p))) {
		return false, "", badCursor("belongs to another query or was changed")
	}
	return raw[1] == 1, string(body[2:]), nil
}
