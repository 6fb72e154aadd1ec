package scan

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/plan"
)

// A Wanted says which records are wanted, by the text of a field: a store that reads several ranges by one request then
// leaves out the others before it reads them. It may be asked about records that are no longer there, and need not be
// asked.
type Wanted struct {
	Field string
	Want  func(query int, text string) bool
}

type wantedKey struct{}

// WithWanted returns a context whose calls of FindMany find what is wanted. Records that are not count for the limit of
// their query.
func WithWanted(ctx context.Context, w *Wanted) context.Context {
	return context.WithValue(ctx, wantedKey{}, w)
}

// wants sets what a span of a query wants, unless that is everything, or its rows do not have the field in their Sort,
// ascending.
func wants(ctx context.Context, p *plan.Plan, query int, span *driver.Span) {
	w, _ := ctx.Value(wantedKey{}).(*Wanted)
	if w == nil {
		return
	}
	cols := p.Table.Sort
	at := slices.IndexFunc(cols, func(c driver.Column) bool { return c.Name == w.Field && c.Kind == driver.String && !c.Desc })
	if at < 0 {
		return
	}
	var vals []driver.Value
	span.Want = func(sort string) (ok bool) {
		var err error
		if vals, _, err = driver.ParseParts(vals[:0], sort, cols[:at+1]); err != nil {
			return true // who reads the row says what is wrong
		}
		return w.Want(query, vals[at].Str())
	}
}
