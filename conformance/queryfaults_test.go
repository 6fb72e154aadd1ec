package conformance

import (
	"context"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

func queryFaults() map[string]fault {
	return grouped("queries and cursors", map[string]fault{
		"equality":             keyFault(strings.ToLower),
		"ranges":               unbounded(),
		"ranges of every kind": afterFrom(),
		"prefix":               unbounded(),
		"bounds":               inclusive(),
		"bounds together":      afterFrom(),
		"empty prefix":         unbounded(),
		"lacking fields":       noRows(),
		"leading parts":        wholeBounds(),
		"order":                noReverse(),
		"key order":            sorted(byLength),
		"query anew":           before(),
		"error at the end":     deafRanges(),
		"count": func(b *broken) {
			b.count = func(ctx context.Context, s driver.Span) (int, error) {
				n, err := b.Store.Count(ctx, s)
				return n / 2, err
			}
		},
		"keys":                 rowFault(func(s *driver.Span, n int, _ *driver.Row) bool { return n != 2 || s.Mask == nil || len(s.Mask) > 0 }),
		"one":                  limitOfOne(),
		"views":                otherFields(),
		"view by other fields": otherFields(),
		"hundreds":             upTo(200),
		"what is sent":         tellsNothing,
		"requests told":        leavesOpen,
		"composite index":      noReverse(),
		"covered view":         bareRows(),
		"pages":                withoutLast(),
		"ends":                 withoutLast(),
		"page size":            upTo(100),
		"ties":                 withoutLast(),
		"inserts and deletes":  unbounded(),
		"paging at once":       inclusive(),
		"emptied page":         keepsAll(),
		"pages of buckets":     noBucket(),
	})
}

// leavesOpen begins a request at each Get that never ends.
func leavesOpen(b *broken) {
	tellsNothing(b)
	b.get = func(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
		driver.TallyOf(ctx).Begin(ctx, len(keys))
		return b.Store.Get(ctx, t, keys, mask, rows)
	}
}

// tellsNothing says that it tells what it sends, and does not.
func tellsNothing(b *broken) { b.facts = func(f *driver.Facts) { f.Tallies = true } }

// lifeFaults break the rules of expiry, groups and bulk inserts.
func lifeFaults() map[string]fault {
	expiry := grouped("expiry", map[string]fault{
		"gone":                  expiryOf(func(op *driver.Op) bool { return op.Table.Class == driver.Rows }, func(int64) int64 { return 0 }),
		"to the millisecond":    expiryOf(nil, func(ms int64) int64 { return ms / 1000 * 1000 }),
		"never":                 expiryOf(nil, func(ms int64) int64 { return max(ms, 4_000_000_000_000) }),
		"kept":                  expiryOf(nil, func(ms int64) int64 { return ms + 1 }),
		"renewed":               staleRows(),
		"renewed by patch":      opFault(func(_ *broken, op *driver.Op) bool { op.PatchMeta = true; return true }),
		"renewed by ExpireAt":   staleRows(),
		"without indexes":       opFault(func(_ *broken, op *driver.Op) bool { op.PatchMeta = false; return true }),
		"writes to expired":     noneAtRev,
		"delete of expired":     keepsAll(),
		"expired owner":         keepsRows(),
		"expired owner at once": racy(),
		"maintain":              walksPast(),
	})
	groups := grouped("groups", map[string]fault{
		"together":               lastLess(),
		"none":                   oneByOne(),
		"versions in groups":     together(firstRev(), forgets(driver.AtRev, driver.Any)),
		"groups at once":         racy(),
		"large group":            few(50),
		"updates in groups":      lastLess(),
		"a lost group":           losesRing(),
		"a count as a condition": racy(),
		"the newest few":         racy(),
		"several collections":    oneByOne(),
		"across partitions":      oneByOne(),

		"collections that lie together":      oneByOne(),
		"drop of what lies together":         dropsNothing,
		"partition of what lies together":    func(b *broken) { b.gather = func(n int, _ *int) bool { return n != 2 } },
		"upkeep of what lies together":       walksPast(),
		"unique value of what lies together": freeForAll(),

		"checks in groups":      without(driver.Check, driver.Records),
		"checks of expired":     expiryOf(nil, func(ms int64) int64 { return max(ms, 4_000_000_000_000) }),
		"checks at once":        checksOutside,
		"a condition elsewhere": racy(),
		"largest group":         together(bound(300), few(200)),
		"longest group":         together(boundBytes(1<<20), few(2)),
		"groups and indexes":    noRows(),
	})
	bulk := grouped("bulk", map[string]fault{
		"all of them":      few(50),
		"some fail":        oneByOne(),
		"many writes":      keepsAll(),
		"sequence ends":    few(50),
		"context ends":     deafCommits(),
		"bulk and indexes": noRows(),
	})
	for _, m := range []map[string]fault{groups, bulk} {
		for id, f := range m {
			expiry[id] = f
		}
	}
	return expiry
}

// expiryOf changes the expiry of the ops that which picks, nil for all.
func expiryOf(which func(op *driver.Op) bool, change func(ms int64) int64) fault {
	return opFault(func(_ *broken, op *driver.Op) bool {
		if op.Do == driver.Put && (which == nil || which(op)) {
			op.Row.Expires = change(op.Row.Expires)
		}
		return true
	})
}

// noneAtRev does no write that expects a Rev.
func noneAtRev(b *broken) {
	b.op = func(op *driver.Op) bool {
		if op.If == driver.AtRev {
			op.Rev = driver.NewToken()
		}
		return true
	}
}
