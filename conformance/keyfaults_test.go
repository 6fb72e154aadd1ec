package conformance

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

func keyFaults() map[string]fault {
	return map[string]fault{
		"keys and order/case":             keyFault(strings.ToLower),
		"keys and order/empty text":       keyFault(func(s string) string { return strings.TrimSuffix(strings.ReplaceAll("\n"+s, "\n#", "a#"), "\n") }),
		"keys and order/nul":              keyFault(replaces("%00", "")),
		"keys and order/separators":       keyFault(replaces("/", "")),
		"keys and order/spaces":           keyFault(replaces("%20", "")),
		"keys and order/composed":         keyFault(replaces("e\u0301", "é")),
		"keys and order/last characters":  keyFault(replaces("\U0010ffff", "\ufffd")),
		"keys and order/numbers as text":  keyFault(replaces("01#", "1#")),
		"keys and order/long keys":        keyFault(cuts(255)),
		"keys and order/beginnings":       keyFault(func(s string) string { return strings.TrimSuffix(s, "#") }),
		"keys and order/typed partitions": keyFault(cuts(24)),
		"keys and order/no order": opFault(func(_ *broken, op *driver.Op) bool {
			if len(op.Table.Sort) == 0 {
				op.Row.Key.Sort = driver.NewToken().String() + "#"
			}
			return true
		}),
		"keys and order/text order":        sorted(foldCase),
		"keys and order/code point order":  sorted(byUTF16),
		"keys and order/values ascending":  sorted(byLength),
		"keys and order/values descending": sorted(byLength),
		"keys and order/reverse":           noReverse(),
		"keys and order/thousands":         upTo(1000),
		"keys and order/half open":         inclusive(),
		"keys and order/begun bounds":      wholeBounds(),
		"keys and order/empty spans": spanFault(func(s *driver.Span) {
			if s.To != "" && s.From >= s.To {
				s.From, s.To = s.To, s.From
			}
		}),
		"keys and order/limit":                    withoutLast(),
		"keys and order/one partition":            neighbours(),
		"keys and order/not read before the loop": eager,
		"keys and order/ranges anew":              before(),
		"keys and order/several ranges":           func(b *broken) { b.greedy = true },
		"keys and order/exactly once":             byPosition(),
		"keys and order/left loops":               heldLock,
		"keys and order/strings for good": func(b *broken) {
			var s scratch
			b.row = func(_ *driver.Span, _ int, r *driver.Row) bool { s.row(r); return true }
		},
	}
}

// eager reads a range when it is asked for.
func eager(b *broken) {
	b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
		rows, err := table.Rows(ctx, b.Store, s)
		return func(yield func(*driver.Row, error) bool) {
			for i := range rows {
				if !yield(&rows[i], nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	}
}

// heldLock lets nobody write once a loop was left.
func heldLock(b *broken) {
	var left atomic.Bool
	b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
		return func(yield func(*driver.Row, error) bool) {
			for r, err := range b.Store.Range(ctx, s) {
				if !yield(r, err) {
					left.Store(true)
					return
				}
			}
		}
	}
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		if left.Load() {
			time.Sleep(100 * time.Millisecond) // for ever would be the same, but take longer
			return nil, fmt.Errorf("the lock is held: %w", driver.ErrTimeout)
		}
		return b.Store.Commit(ctx, token, ops)
	}
}

func recordFaults() map[string]fault {
	return grouped("records and fields", fieldFaults(), rowFaults(), documentFaults())
}

func fieldFaults() map[string]fault {
	return map[string]fault{
		"bools": valueFault(func(v driver.Value) driver.Value {
			if v.Kind() == driver.Bool && !v.Bool() {
				return driver.Value{}
			}
			return v
		}),
		"integers": valueFault(odd),
		"floats":   valueFault(singles),
		"texts":    valueFault(textsAs(strings.TrimSpace)),
		"bytes":    valueFault(textsAs(func(s string) string { return strings.ToValidUTF8(s, "?") })),
		"times":    valueFault(seconds),
		"lists": valueFault(func(v driver.Value) driver.Value {
			if v.Kind() == driver.List {
				return driver.ListValue(slices.CompactFunc(slices.Clone(v.List()), driver.Value.Equal))
			}
			return v
		}),
		"maps": valueFault(shorter),
		"absent fields": gotFault(func(_ *driver.Table, r *driver.Row) {
			if len(r.Fields) > table.Int && r.Fields[table.Int].IsNone() {
				r.Fields[table.Int] = driver.IntValue(0)
			}
		}),
		"undeclared fields": opFault(func(_ *broken, op *driver.Op) bool {
			op.Row.Extra = slices.DeleteFunc(op.Row.Extra, func(p driver.Pair) bool { return strings.Contains(p.Name, ".") })
			return true
		}),
		"fields of others": gotFault(func(_ *driver.Table, r *driver.Row) { r.Extra = nil }),
		"declared later": gotFault(func(t *driver.Table, r *driver.Row) {
			if t.Fields[0].Name == "b" && len(r.Fields) > 1 {
				r.Fields[0] = driver.Value{}
			}
		}),
	}
}

func rowFaults() map[string]fault {
	return map[string]fault{
		"masks": func(b *broken) {
			b.get = func(ctx context.Context, t *driver.Table, keys []driver.Key, _ []int, rows []driver.Row) error {
				return b.Store.Get(ctx, t, keys, nil, rows)
			}
		},
		"masks of ranges": noMask(),
		"order of get":    swapped(),
		"reused rows": func(b *broken) {
			b.get = func(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
				old := slices.Clone(rows)
				err := b.Store.Get(ctx, t, keys, mask, rows)
				for i := range rows {
					rows[i].Meta += old[i].Meta
				}
				return err
			}
		},
		"get sees": lateGets,
		"many at once": func(b *broken) {
			b.got = func(_ *driver.Table, _ []driver.Key, _ []int, rows []driver.Row) {
				for i := 4096; i < len(rows); i++ {
					rows[i].Reset()
				}
			}
		},
		"rev": otherRev(),
		"expires": gotFault(func(_ *driver.Table, r *driver.Row) {
			if r.Expires > 0 && r.Expires < 1e12 {
				r.Reset()
			}
		}),
		"dead": gotFault(func(_ *driver.Table, r *driver.Row) {
			if r.Dead {
				r.Reset()
			}
		}),
		"note":         gotFault(func(_ *driver.Table, r *driver.Row) { r.Meta = strings.TrimSpace(r.Meta) }),
		"keys of rows": rowFault(func(_ *driver.Span, _ int, r *driver.Row) bool { r.Key.Sort = ""; return true }),
		"whole puts":   merges(),
		"large rows":   valueFault(textsAs(cuts(1 << 16))),
		"arguments":    keepsArguments,
		"values for good": func(b *broken) {
			var s scratch
			b.got = func(_ *driver.Table, _ []driver.Key, _ []int, rows []driver.Row) {
				for i := range rows {
					s.row(&rows[i])
				}
			}
		},
		"goroutines": oneAtATime,
	}
}

func documentFaults() map[string]fault {
	return map[string]fault{
		"every type": valueFault(singles),
		"nothing and empty": valueFault(func(v driver.Value) driver.Value {
			if v.Kind() == driver.String && v.Str() == "" {
				return driver.Value{}
			}
			return v
		}),
		"milliseconds":          valueFault(seconds),
		"unsigned":              valueFault(odd),
		"numbers that are none": valueFault(singles),
		"invalid text":          valueFault(textsAs(replaces("\x00", ""))),
		"nested documents":      valueFault(shorter),
		"fields that differ":    noExtra(),
		"types":                 valueFault(shorter),
		"fields of a newer program": opFault(func(_ *broken, op *driver.Op) bool {
			if len(op.Table.Fields) < 4 {
				op.Row.Extra = nil
			}
			return true
		}),
		"get nothing":    ghosts(),
		"get many":       swapped(),
		"versions":       gotFault(func(_ *driver.Table, r *driver.Row) { r.Rev = driver.Token{1} }),
		"version fields": otherRev(),
		"patch":          lostEdits,
		"patch undeclared": opFault(func(_ *broken, op *driver.Op) bool {
			op.Edits = slices.DeleteFunc(op.Edits, func(e driver.Edit) bool { return e.Field < 0 })
			return true
		}),
		"patch together": readsFirst(),
		"patch add":      readsFirst(),
		"patch overflow": wrapsAround,
		"patch nothing":  patchesGhosts,
		"put whole":      merges(),
	}
}

// grouped puts the name of a group before those of its rules.
func grouped(group string, lists ...map[string]fault) map[string]fault {
	all := map[string]fault{}
	for _, list := range lists {
		for name, f := range list {
			all[group+"/"+name] = f
		}
	}
	return all
}

// lateGets answers now and then with what there was before the last commit.
func lateGets(b *broken) {
	var mu sync.Mutex
	before, reads := map[string]driver.Row{}, 0
	name := func(t *driver.Table, k driver.Key) string { return t.Name + k.Partition + k.Sort }
	b.op = func(op *driver.Op) bool {
		mu.Lock()
		defer mu.Unlock()
		before[name(op.Table, op.Row.Key)] = b.stored(op)
		return true
	}
	b.got = func(t *driver.Table, keys []driver.Key, _ []int, rows []driver.Row) {
		mu.Lock()
		defer mu.Unlock()
		if reads++; reads%4 == 3 {
			row := before[name(t, keys[0])]
			rows[0] = double.CopyRow(&row)
		}
	}
}

// keepsArguments stores the caller's slices instead of what is in them.
func keepsArguments(b *broken) {
	kept := map[string][]driver.Value{}
	b.answer = func(_ driver.Token, ops []driver.Op, refusal *driver.Refusal, err error) (*driver.Refusal, error) {
		for _, op := range ops {
			kept[op.Row.Key.Sort] = op.Row.Fields
		}
		return refusal, err
	}
	b.got = func(_ *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) {
		for i := range rows {
			if fields := kept[keys[i].Sort]; fields != nil && mask == nil {
				rows[i].Fields = fields
			}
		}
	}
}

// oneAtATime forgets a commit that comes while another one is under way.
func oneAtATime(b *broken) {
	var busy atomic.Int32
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		defer busy.Add(-1)
		if busy.Add(1) > 1 {
			return nil, nil
		}
		time.Sleep(50 * time.Microsecond)
		return b.Store.Commit(ctx, token, ops)
	}
}

// lostEdits does the first edit of a patch only.
func lostEdits(b *broken) {
	b.op = func(op *driver.Op) bool {
		op.Edits = op.Edits[:min(1, len(op.Edits))]
		return true
	}
}

// wrapsAround says of an overflow that it was done.
func wrapsAround(b *broken) {
	b.answer = func(_ driver.Token, _ []driver.Op, refusal *driver.Refusal, err error) (*driver.Refusal, error) {
		if refusal != nil && refusal.Overflow {
			return nil, nil
		}
		return refusal, err
	}
}

// patchesGhosts makes the row that a patch does not find.
func patchesGhosts(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		refusal, err := b.Store.Commit(ctx, token, ops)
		if refusal != nil && refusal.Row.Rev.IsZero() && ops[refusal.Op].Do == driver.Patch {
			return b.Store.Commit(ctx, token, []driver.Op{{Do: driver.Put, Table: ops[0].Table, Row: driver.Row{Key: ops[0].Row.Key}}})
		}
		return refusal, err
	}
}
