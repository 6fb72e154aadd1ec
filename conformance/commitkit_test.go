package conformance

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/repo/driver"
)

// few does the first n ops of a commit.
func few(n int) fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			return b.Store.Commit(ctx, token, ops[:min(n, len(ops))])
		}
	}
}

// uncertain makes Facts say that outcomes can be unknown, so that what is deleted leaves a tombstone.
func uncertain() fault {
	return func(b *broken) { b.facts = func(f *driver.Facts) { f.Uncertain = true } }
}

func lastLess() fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			return b.Store.Commit(ctx, token, ops[:max(1, len(ops)-1)])
		}
	}
}

// oneByOne does the ops of a commit one after the other.
func oneByOne() fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			for i := range ops {
				refusal, err := b.Store.Commit(ctx, token, ops[i:i+1])
				if refusal != nil {
					refusal.Op = i
				}
				if err != nil || refusal != nil {
					return refusal, err
				}
			}
			return nil, nil
		}
	}
}

// racy looks at conditions first and writes later.
func racy() fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			forced := double.CopyOps(ops)
			for i := range forced {
				check := driver.Op{Do: driver.Check, Table: ops[i].Table, Row: driver.Row{Key: ops[i].Row.Key}, If: ops[i].If, Rev: ops[i].Rev}
				if refusal, err := b.Store.Commit(ctx, driver.NewToken(), []driver.Op{check}); err != nil || refusal != nil {
					if refusal != nil {
						refusal.Op = i
					}
					return refusal, err
				}
				forced[i].If = driver.Any
				if forced[i].Do == driver.Patch {
					forced[i].If = driver.Present
				}
			}
			time.Sleep(200 * time.Microsecond)
			return b.Store.Commit(ctx, token, forced)
		}
	}
}

// rowsLater does the records first, and the index rows some time after it: before
// the answer, or after it.
func rowsLater(wait time.Duration, answered bool) fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			var records, rest []driver.Op
			for _, op := range ops {
				if op.Table.Class == driver.Records {
					records = append(records, op)
				} else {
					rest = append(rest, op)
				}
			}
			if refusal, err := b.Store.Commit(ctx, token, records); err != nil || refusal != nil || len(rest) == 0 {
				return refusal, err
			}
			wait := rand.N(wait)
			if answered {
				rest := double.CopyOps(rest) // the caller will use its slices again
				time.AfterFunc(wait, func() { b.Store.Commit(context.WithoutCancel(ctx), token, rest) })
				return nil, nil
			}
			time.Sleep(wait)
			refusal, err := b.Store.Commit(ctx, token, rest)
			if refusal != nil {
				refusal.Op += len(records)
			}
			return refusal, err
		}
	}
}

// readsFirst patches by reading the row and writing it whole, later.
func readsFirst() fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			if ops[0].Do != driver.Patch {
				return b.Store.Commit(ctx, token, ops)
			}
			aside := memory.New(nil)
			old := b.stored(&ops[0])
			old.Key = ops[0].Row.Key
			if err := aside.Define(ctx, []*driver.Table{ops[0].Table}); err != nil || old.Rev.IsZero() {
				return b.Store.Commit(ctx, token, ops)
			}
			aside.Commit(ctx, old.Rev, []driver.Op{{Do: driver.Put, Table: ops[0].Table, Row: old}})
			if refusal, err := aside.Commit(ctx, token, ops[:1]); err != nil || refusal != nil {
				return refusal, err
			}
			time.Sleep(200 * time.Microsecond)
			next := make([]driver.Row, 1)
			if err := aside.Get(ctx, ops[0].Table, []driver.Key{old.Key}, nil, next); err != nil {
				return nil, err
			}
			next[0].Key = old.Key
			return b.Store.Commit(ctx, token, []driver.Op{{Do: driver.Put, Table: ops[0].Table, Row: next[0]}})
		}
	}
}

// deafCommits goes on although a context has ended.
func deafCommits() fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			return b.Store.Commit(context.WithoutCancel(ctx), token, ops)
		}
	}
}

func deafRanges() fault {
	return func(b *broken) {
		b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
			return b.Store.Range(context.WithoutCancel(ctx), s)
		}
	}
}

func deafGets() fault {
	return func(b *broken) {
		b.get = func(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
			return b.Store.Get(context.WithoutCancel(ctx), t, keys, mask, rows)
		}
	}
}
