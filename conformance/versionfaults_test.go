package conformance

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo/driver"
)

func versionFaults() map[string]fault {
	return grouped(rule.Catalog, map[string]fault{
		"made anew by another program":      staleCatalog(),
		"index dropped by another program":  staleCatalog(),
		"expiry of another program":         lastsForEver,
		"fields of another program":         declaredOnly,
		"elements of another kind":          together(noCatalog(), nothingIsSchema),
		"native index of another program":   rowFault(func(s *driver.Span, n int, _ *driver.Row) bool { return n > 0 || !s.Table.Native }),
		"builds of another program":         countFault(),
		"field left out by another program": staleCatalog(),

		"undeclared field of another program": staleCatalog(),
	})
}

// staleCatalog goes on to say of a collection what it first said.
func staleCatalog() fault {
	return func(b *broken) {
		var mu sync.Mutex
		first := map[string]string{}
		b.entry = func(key, text string) string {
			mu.Lock()
			defer mu.Unlock()
			if first[key] == "" && !strings.Contains(text, `"making":true`) {
				first[key] = text
			}
			return cmp.Or(first[key], text)
		}
	}
}

// lastsForEver loses the expiry of rows.
func lastsForEver(b *broken) {
	b.op = func(op *driver.Op) bool {
		op.Row.Expires = 0
		return true
	}
}

// declaredOnly keeps of a row that is put what its table declares.
func declaredOnly(b *broken) {
	b.op = func(op *driver.Op) bool {
		op.Row.Extra = nil
		return true
	}
}

// countFault counts one row less than there are.
func countFault() fault {
	return func(b *broken) {
		b.count = func(ctx context.Context, s driver.Span) (int, error) {
			n, err := b.Store.Count(ctx, s)
			return n - 1, err
		}
	}
}
