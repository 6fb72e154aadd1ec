package scan

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Page is a part of what a query finds: repo.Page.
type Page struct {
	Size int  // how many of the records that were found first are on it
	Back bool // they were found in the opposite order
	Next string
	Prev string
}

// usualPage is for how many items a page makes room before it has any.
const usualPage = 32

// ReadPage finds the page that a cursor names. It calls room with how many records there may be, then add with each.
func (v *View) ReadPage(ctx context.Context, k *store.Call, q plan.Query, cursor string, room func(n int), add func(t any)) (Page, error) {
	if ctx == nil {
		return Page{}, failure.ErrNoContext
	}
	var out Page
	if q.Limit == 0 {
		q.Limit = limit.DefaultPage
	}
	p, err := v.c.plan(k, q, v.by)
	if err != nil {
		return out, err
	}
	back, at, err := v.c.parseCursor(p, cursor)
	if err != nil {
		return out, err
	}
	seal := v.c.sealer(p)
	entered := cursor != "" || p.Offset > 0
	if cursor != "" {
		p.Offset = 0
	}
	enter(p, back, at, cursor != "")
	size := p.Limit
	p.Limit++ // one more tells whether there is another page
	room(min(size+1, usualPage))
	sorts := make([]Position, 0, min(size+1, usualPage))
	err = v.findBy(ctx, k, p, func(t any, at Position) bool {
		add(t)
		sorts = append(sorts, at)
		return true
	})
	short := errors.Is(err, plan.ErrLooked)
	if err != nil && !short {
		return Page{}, err
	}
	more := len(sorts) > size
	if more {
		sorts = sorts[:size]
	}
	out.Size, out.Back = len(sorts), back
	out.finish(sorts, back, more, entered, seal)
	if len(sorts) == 0 && cursor != "" {
		out.leadBack(back, at, !p.Reverse, seal)
	}
	if short && !more {
		out.goOn(back, seal(back, Position(p.Look.Last)))
	}
	return out, nil
}

// goOn makes the cursor of a page that has fewer items than it could, since a filter looked at enough.
func (out *Page) goOn(back bool, cursor string) {
	if back {
		out.Prev = cursor
	} else {
		out.Next = cursor
	}
}

// enter narrows a plan to the rows behind a cursor, or before it.
func enter(p *plan.Plan, back bool, at string, some bool) {
	if back {
		p.Reverse = !p.Reverse
	}
	if some {
		p.Behind(at, p.Reverse)
	}
}

// finish makes the cursors.
func (out *Page) finish(sorts []Position, back, more, entered bool, seal func(back bool, at Position) string) {
	if back {
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
func (out *Page) leadBack(back bool, at string, reverse bool, seal func(back bool, at Position) string) {
	if at == "" {
		return
	}
	place := Position(driver.After(at))
	if !reverse {
		last := len(at) - 1
		place = Position(at[:last] + string(at[last]-1)) // driver.After of it is at
	}
	if back {
		out.Next = seal(false, place)
	} else {
		out.Prev = seal(true, place)
	}
}

const cursorVersion = 1

// sealer returns a function that makes cursors of a plan's query.
func (c *Reader) sealer(p *plan.Plan) func(back bool, at Position) string {
	sum := c.queryText(p)
	return func(back bool, at Position) string {
		head := []byte{cursorVersion, 0}
		if back {
			head[1] = 1
		}
		body := append(head, at...)
		return base64.RawURLEncoding.EncodeToString(append(body, Seal(c.Store, body, sum)...))
	}
}

// queryText returns what a cursor must agree with: collection, table, run, order.
func (c *Reader) queryText(p *plan.Plan) []byte {
	text := []byte(p.Table.Name)
	for i := range p.Parts {
		for _, s := range []string{p.Parts[i].Key.Partition, p.Parts[i].From, p.Parts[i].To} {
			text = append(append(text, 0), s...)
		}
	}
	if p.Reverse {
		text = append(text, 1)
	}
	return p.AppendResidue(text)
}

// parseCursor returns the direction and position of a cursor of the plan's query.
func (c *Reader) parseCursor(p *plan.Plan, cursor string) (back bool, at string, err error) {
	if cursor == "" {
		return false, "", nil
	}
	if len(cursor) > 8*limit.MaxKey || strings.ContainsAny(cursor, "\r\n") { // which base64 would overlook
		return false, "", failure.BadCursor("is longer than any of ours")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	size := sealSize(c.Store)
	if err != nil || len(raw) < 2+size || raw[0] != cursorVersion || raw[1] > 1 {
		return false, "", failure.BadCursor("is damaged")
	}
	body, sum := raw[:len(raw)-size], raw[len(raw)-size:]
	if !hmac.Equal(sum, Seal(c.Store, body, c.queryText(p))) {
		return false, "", failure.BadCursor("belongs to another query or was changed")
	}
	return raw[1] == 1, string(body[2:]), nil
}
