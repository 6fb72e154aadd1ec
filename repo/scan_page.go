package repo

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A page is a part of what a query finds: repo.Page.
type page[T any] struct {
	Items []T
	Next  string
	Prev  string
}

// readPage returns the page that a cursor names.
func (v view[T]) readPage(ctx context.Context, k *call, q queryDef, cursor string) (page[T], error) {
	if ctx == nil {
		return page[T]{}, errNoContext
	}
	var out page[T]
	if q.limit == 0 {
		q.limit = defaultPage
	}
	p, err := v.c.planner().plan(q, v.by)
	if err != nil {
		return out, err
	}
	back, at, err := v.c.parseCursor(&p, cursor)
	if err != nil {
		return out, err
	}
	seal := v.c.sealer(&p)
	enter(&p, back, at, cursor != "")
	size := p.limit
	p.limit++ // one more tells whether there is another page
	sorts := make([]position, 0, min(size, 256))
	err = v.findBy(ctx, k, &p, func(t *T, at position) bool {
		out.Items, sorts = append(out.Items, *t), append(sorts, at)
		return true
	})
	if err != nil {
		return page[T]{}, err
	}
	more := len(out.Items) > size
	if more {
		out.Items, sorts = out.Items[:size], sorts[:size]
	}
	out.finish(sorts, back, more, cursor != "", seal)
	if len(sorts) == 0 && cursor != "" {
		out.leadBack(back, at, !p.reverse, seal)
	}
	return out, nil
}

// enter narrows a plan to the rows behind a cursor, or before it.
func enter(p *plan, back bool, at string, some bool) {
	if back {
		p.reverse = !p.reverse
	}
	if some {
		p.extent = p.behind(at, p.reverse)
	}
}

// finish puts the items in order and makes the cursors.
func (out *page[T]) finish(sorts []position, back, more, entered bool, seal func(back bool, at position) string) {
	if back {
		slices.Reverse(out.Items)
		slices.Reverse(sorts)
	}
	if len(sorts) == 0 {
		return
	}
	if more || back {
		out.Next = seal(false, sorts[len(sorts)-1])
	}
	if back && more || !back && entered {
		out.Prev = seal(true, sorts[0])
	}
}

// leadBack makes the cursor of an empty page to where it was reached from, the
// record at that place included. Reverse is how the page that it leads to is read.
func (out *page[T]) leadBack(back bool, at string, reverse bool, seal func(back bool, at position) string) {
	if at == "" {
		return
	}
	place := position(driver.After(at))
	if !reverse {
		last := len(at) - 1
		place = position(at[:last] + string(at[last]-1)) // driver.After of it is at
	}
	if back {
		out.Next = seal(false, place)
	} else {
		out.Prev = seal(true, place)
	}
}

const cursorVersion = 1

// sealer returns a function that makes cursors of a plan's query.
func (c *reader) sealer(p *plan) func(back bool, at position) string {
	sum := c.queryText(p)
	return func(back bool, at position) string {
		head := []byte{cursorVersion, 0}
		if back {
			head[1] = 1
		}
		body := append(head, at...)
		return base64.RawURLEncoding.EncodeToString(append(body, seal(c.store, body, sum)...))
	}
}

// queryText returns what a cursor must agree with: collection, table, run, order.
func (c *reader) queryText(p *plan) []byte {
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
func (c *reader) parseCursor(p *plan, cursor string) (back bool, at string, err error) {
	if cursor == "" {
		return false, "", nil
	}
	if len(cursor) > 8*maxKey || strings.ContainsAny(cursor, "\r\n") { // which base64 would overlook
		return false, "", badCursor("is longer than any of ours")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	size := sealSize(c.store)
	if err != nil || len(raw) < 2+size || raw[0] != cursorVersion || raw[1] > 1 {
		return false, "", badCursor("is damaged")
	}
	body, sum := raw[:len(raw)-size], raw[len(raw)-size:]
	if !hmac.Equal(sum, seal(c.store, body, c.queryText(p))) {
		return false, "", badCursor("belongs to another query or was changed")
	}
	return raw[1] == 1, string(body[2:]), nil
}
