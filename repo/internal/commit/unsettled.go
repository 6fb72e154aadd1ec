package commit

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/store"
)

// readClaims looks up who has the values that some writes put or give up, where that may be somebody else.
func readClaims(ctx context.Context, k *store.Call, b *change.Builder, writes []Write) error {
	for i := range writes {
		w := &writes[i]
		if !w.changes() {
			continue
		}
		w.Claims = nil
		for _, x := range w.Unsettled(w.By.Layout) {
			claims, err := ClaimsOf(ctx, k, w.By, b, x, &w.Change)
			if err != nil {
				return w.failed(err)
			}
			w.Claims = append(w.Claims, claims...)
		}
	}
	return nil
}

// ClaimsOf reads what is there where a change may put or remove a claim of an index.
func ClaimsOf(ctx context.Context, k *store.Call, c *Writer, b *change.Builder, x *layout.Index, ch *change.Change) ([]change.Claim, error) {
	keys, err := b.ClaimKeys(c.Layout, x, ch)
	if err != nil {
		return nil, err
	}
	rows, claims := make([]driver.Row, len(keys)), make([]change.Claim, len(keys))
	if err := c.Store.Get(ctx, k, x.Table, keys, nil, rows); err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].Key = keys[i]
		claims[i] = change.Claim{X: x, Row: rows[i]}
	}
	return claims, nil
}
