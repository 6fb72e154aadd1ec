package conformance

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unsafe"

	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

func gotFault(change func(t *driver.Table, r *driver.Row)) fault {
	return func(b *broken) {
		b.got = func(t *driver.Table, _ []driver.Key, _ []int, rows []driver.Row) {
			for i := range rows {
				change(t, &rows[i])
			}
		}
	}
}

// ghosts answers that there are rows that there are not.
func ghosts() fault {
	return gotFault(func(_ *driver.Table, r *driver.Row) {
		if r.Rev.IsZero() {
			r.Rev = driver.NewToken()
		}
	})
}

// firstRev answers for one record, the first to be read, with the Rev that it had then.
func firstRev() fault {
	return func(b *broken) {
		var mu sync.Mutex
		var key driver.Key
		var first driver.Row
		b.got = func(t *driver.Table, keys []driver.Key, _ []int, rows []driver.Row) {
			mu.Lock()
			defer mu.Unlock()
			for i := range rows {
				r := &rows[i]
				if t.Class != driver.Records || r.Rev.IsZero() {
					continue
				}
				if first.Rev.IsZero() {
					key, first = keys[i], driver.Row{Rev: r.Rev, Ring: slices.Clone(r.Ring)}
				}
				if keys[i] == key {
					r.Rev, r.Ring = first.Rev, first.Ring
				}
			}
		}
	}
}

// together is several faults at once.
func together(all ...fault) fault {
	return func(b *broken) {
		for _, f := range all {
			f(b)
		}
	}
}

func otherRev() fault  { return gotFault(func(_ *driver.Table, r *driver.Row) { r.Rev[15] = 0 }) }
func losesRing() fault { return gotFault(func(_ *driver.Table, r *driver.Row) { r.Ring = nil }) }

// swapped answers the first two keys in the wrong order.
func swapped() fault {
	return func(b *broken) {
		b.got = func(_ *driver.Table, _ []driver.Key, _ []int, rows []driver.Row) {
			if len(rows) > 1 {
				rows[0], rows[1] = rows[1], rows[0]
			}
		}
	}
}

func rowFault(change func(s *driver.Span, n int, r *driver.Row) bool) fault {
	return func(b *broken) { b.row = change }
}

// withoutFirst leaves the first row of every range out.
func withoutFirst() fault {
	return rowFault(func(_ *driver.Span, n int, _ *driver.Row) bool { return n > 0 })
}

// withoutLast leaves the last row of a limited range out.
func withoutLast() fault {
	return rowFault(func(s *driver.Span, n int, _ *driver.Row) bool { return s.Limit == 0 || n < s.Limit-1 })
}

// upTo ends every range after n rows.
func upTo(n int) fault {
	return rowFault(func(_ *driver.Span, i int, _ *driver.Row) bool { return i < n })
}

func spanFault(change func(s *driver.Span)) fault { return func(b *broken) { b.span = change } }

// inclusive has the row at the end of a span in it.
func inclusive() fault {
	return spanFault(func(s *driver.Span) {
		if s.To != "" {
			s.To = driver.After(s.To)
		}
	})
}

// wholeBounds knows no bounds but whole order texts.
func wholeBounds() fault {
	return spanFault(func(s *driver.Span) {
		if !strings.HasSuffix(s.To, "#") && !strings.HasSuffix(s.To, "~") {
			s.To = ""
		}
	})
}

func unbounded() fault { return spanFault(func(s *driver.Span) { s.From = "" }) }
func noReverse() fault { return spanFault(func(s *driver.Span) { s.Reverse = false }) }
func noMask() fault    { return spanFault(func(s *driver.Span) { s.Mask = nil }) }

// afterFrom leaves the rows at the beginning of a span out.
func afterFrom() fault { return spanFault(func(s *driver.Span) { s.From = driver.After(s.From) }) }

// otherFields reads the fields that follow those of a mask.
func otherFields() fault {
	next := func(t *driver.Table, mask []int) []int {
		mask = slices.Clone(mask)
		for i := range mask {
			mask[i] = (mask[i] + 1) % len(t.Fields)
		}
		return mask
	}
	return func(b *broken) {
		b.span = func(s *driver.Span) { s.Mask = next(s.Table, s.Mask) }
		b.get = func(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
			return b.Store.Get(ctx, t, keys, next(t, mask), rows)
		}
	}
}

func noBucket() fault {
	return spanFault(func(s *driver.Span) { s.Key.Partition = strings.Replace(s.Key.Partition, "a2#", "a9#", 1) })
}
func limitOfOne() fault { return spanFault(func(s *driver.Span) { s.Limit = min(s.Limit, 1) }) }

// neighbours yields the rows of all partitions that begin alike.
func neighbours() fault {
	return spanFault(func(s *driver.Span) {
		s.Key.Partition = s.Key.Partition[:strings.IndexByte(s.Key.Partition, '#')+1]
	})
}

// sorted yields rows in another order.
func sorted(less func(a, b string) int) fault {
	return func(b *broken) {
		b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
			return func(yield func(*driver.Row, error) bool) {
				limit := s.Limit
				s.Limit = 0
				rows, err := table.Rows(ctx, b.Store, s)
				slices.SortStableFunc(rows, func(x, y driver.Row) int {
					if s.Reverse {
						x, y = y, x
					}
					return less(x.Key.Sort, y.Key.Sort)
				})
				for i := range rows {
					if limit > 0 && i == limit || !yield(&rows[i], nil) {
						return
					}
				}
				if err != nil {
					yield(nil, err)
				}
			}
		}
	}
}

func foldCase(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }

func byLength(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func byUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// before answers ranges with what there was at the range before.
func before() fault {
	return func(b *broken) {
		var mu sync.Mutex
		last := map[string][]driver.Row{}
		b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
			return func(yield func(*driver.Row, error) bool) {
				now, err := table.Rows(ctx, b.Store, s)
				mu.Lock()
				rows, ok := last[s.Table.Name+s.Key.Partition]
				last[s.Table.Name+s.Key.Partition] = now
				mu.Unlock()
				if !ok {
					rows = now
				}
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
}

// byPosition pages through a range by numbers of rows.
func byPosition() fault {
	return func(b *broken) {
		b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
			return func(yield func(*driver.Row, error) bool) {
				for i := 0; ; i++ {
					s.Limit = i + 1
					rows, err := table.Rows(ctx, b.Store, s)
					if err != nil {
						yield(nil, err)
						return
					}
					if len(rows) <= i || !yield(&rows[i], nil) {
						return
					}
				}
			}
		}
	}
}

// A scratch makes texts that are written over by later ones.
type scratch struct {
	mu  sync.Mutex
	buf [930]byte
	at  int
}

func (s *scratch) text(v driver.Value) driver.Value {
	if v.Kind() != driver.String || len(v.Str()) == 0 || len(v.Str()) > len(s.buf)/4 {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at+len(v.Str()) > len(s.buf) {
		s.at = 0
	}
	n := copy(s.buf[s.at:], v.Str())
	text := unsafe.String(&s.buf[s.at], n)
	s.at += n
	return driver.StringValue(text)
}

func (s *scratch) row(r *driver.Row) {
	for i := range r.Fields {
		r.Fields[i] = s.text(r.Fields[i])
	}
}
