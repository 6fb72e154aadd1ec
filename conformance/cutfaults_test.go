package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo/driver"
)

func afterAWhile(do func()) { time.AfterFunc(rule.AfterHurry/3, do) }

// inBatches tests all conditions of a large commit, then does it in batches, before each of
// which it looks at the context.
func inBatches(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		if len(ops) < 300 {
			return b.Store.Commit(ctx, token, ops)
		}
		if refusal, err := b.Store.Commit(ctx, driver.NewToken(), checksOf(ops)); refusal != nil || err != nil {
			return refusal, err
		}
		for batch := range slices.Chunk(ops, 50) {
			time.Sleep(2 * time.Millisecond) // so that a context that ends does so between two
			if refusal, err := b.Store.Commit(ctx, token, batch); refusal != nil || err != nil {
				return refusal, err
			}
		}
		return nil, nil
	}
}

// checksOf returns the conditions of ops alone.
func checksOf(ops []driver.Op) []driver.Op {
	checks := make([]driver.Op, len(ops))
	for i := range ops {
		checks[i] = driver.Op{Do: driver.Check, Table: ops[i].Table, Row: driver.Row{Key: ops[i].Row.Key}, If: ops[i].If, Rev: ops[i].Rev}
	}
	return checks
}

// halfUnknown does the first op of a commit whose context ends on its way, and knows nothing.
func halfUnknown(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		if len(ops) > 1 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
			if ctx.Err() != nil {
				if _, err := b.Store.Commit(context.WithoutCancel(ctx), token, ops[:1]); err != nil {
					return nil, err
				}
				return nil, fmt.Errorf("%w: %w", driver.ErrUnknownOutcome, context.Cause(ctx))
			}
		}
		return b.Store.Commit(ctx, token, ops)
	}
}

// inTwoBySize does a commit of more than 2 MiB in two.
func inTwoBySize(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		size := 0
		for i := range ops {
			for _, v := range ops[i].Row.Fields {
				if v.Kind() == driver.Bytes {
					size += len(v.Str())
				}
			}
		}
		if size < 2<<20 || len(ops) < 2 {
			return b.Store.Commit(ctx, token, ops)
		}
		half := len(ops) / 2
		if refusal, err := b.Store.Commit(ctx, token, ops[:half]); refusal != nil || err != nil {
			return refusal, err
		}
		refusal, err := b.Store.Commit(ctx, driver.NewToken(), ops[half:])
		if refusal != nil {
			refusal.Op += half
		}
		return refusal, err
	}
}

// takesBack writes a row before it has seen that the commit is refused for another one, and
// takes it back. Writers exclude each other.
func takesBack(b *broken) {
	var mu sync.Mutex
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		mu.Lock()
		defer mu.Unlock()
		first := ops[0]
		old := b.stored(&first)
		refusal, err := b.Store.Commit(ctx, driver.NewToken(), checksOf(ops))
		if err != nil || refusal == nil || refusal.Op == 0 || old.Rev.IsZero() || first.Do != driver.Put || first.Table.Ring > 0 {
			return b.Store.Commit(ctx, token, ops)
		}
		b.Store.Commit(ctx, token, []driver.Op{first})
		time.Sleep(100 * time.Microsecond)
		old.Key = first.Row.Key
		b.Store.Commit(ctx, old.Rev, []driver.Op{{Do: driver.Put, Table: first.Table, Row: old}})
		return refusal, nil
	}
}

// rowByRow shows the rows of a commit one after the other. Writers exclude each other.
func rowByRow(b *broken) {
	var mu sync.Mutex
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		mu.Lock()
		defer mu.Unlock()
		refusal, err := b.Store.Commit(ctx, driver.NewToken(), checksOf(ops))
		if err != nil || refusal != nil {
			return refusal, err
		}
		for i := range ops {
			if refusal, err = b.Store.Commit(ctx, token, ops[i:i+1]); refusal != nil || err != nil {
				return refusal, err
			}
			time.Sleep(50 * time.Microsecond)
		}
		return nil, nil
	}
}

// believesRing answers with the ring that came with a put, whatever its condition.
func believesRing(b *broken) {
	var mu sync.Mutex
	given := map[driver.Token][]driver.Token{}
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		mu.Lock()
		defer mu.Unlock()
		if op := &ops[0]; op.Do == driver.Put && op.If != driver.AtRev && len(op.Row.Ring) > 0 {
			given[token] = append([]driver.Token{token}, op.Row.Ring...)
		}
		return b.Store.Commit(ctx, token, ops)
	}
	b.got = func(t *driver.Table, _ []driver.Key, _ []int, rows []driver.Row) {
		mu.Lock()
		defer mu.Unlock()
		for i := range rows {
			if ring := given[rows[i].Rev]; ring != nil {
				rows[i].Ring = slices.Clone(ring[:min(len(ring), t.Ring)])
			}
		}
	}
}

// halfTokens takes tokens for the same that begin alike.
func halfTokens(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		for _, t := range b.stored(&ops[0]).Ring {
			if string(t[:12]) == string(token[:12]) {
				return nil, nil
			}
		}
		return b.Store.Commit(ctx, token, ops)
	}
}

// patchFault changes the edits of patches, which may look at the row as it is.
func patchFault(change func(e *driver.Edit, old *driver.Row)) fault {
	return opFault(func(b *broken, op *driver.Op) bool {
		for i := range op.Edits {
			old := b.stored(op)
			change(&op.Edits[i], &old)
		}
		return true
	})
}

// wrapsUndeclared takes no notice of the overflow of an undeclared field.
func wrapsUndeclared(e *driver.Edit, old *driver.Row) {
	at := slices.IndexFunc(old.Extra, func(p driver.Pair) bool { return p.Name == e.Name })
	if e.Do != driver.Add || e.Field >= 0 || at < 0 || old.Extra[at].Value.Kind() != driver.Int {
		return
	}
	if a, n := old.Extra[at].Value.Int(), e.Value.Int(); n > 0 && a > math.MaxInt64-n {
		e.Do, e.Value = driver.Set, driver.IntValue(a+n)
	}
}

// noDollar takes the dollar at the beginning of a name that is edited away.
func noDollar(e *driver.Edit, _ *driver.Row) { e.Name = strings.TrimPrefix(e.Name, "$") }

// forgetsMeta leaves the expiry as it is where a field is unset by the same patch.
func forgetsMeta(_ *broken, op *driver.Op) bool {
	if slices.ContainsFunc(op.Edits, func(e driver.Edit) bool { return e.Do == driver.Unset }) {
		op.PatchMeta = false
	}
	return true
}

// outlivesDeath leaves to a row that dies the fields that it had.
func outlivesDeath(b *broken, op *driver.Op) bool {
	if op.Do == driver.Put && op.Row.Dead && len(op.Row.Fields) == 0 {
		op.Row.Fields = b.stored(op).Fields
	}
	return true
}

// withoutLastCheck takes no notice of a check at the end of several ops.
func withoutLastCheck(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		if len(ops) > 2 && ops[0].Do != driver.Check && ops[len(ops)-1].Do == driver.Check {
			ops = ops[:len(ops)-1]
		}
		return b.Store.Commit(ctx, token, ops)
	}
}

// revsOfFew takes no notice of Revs in commits of hundreds of ops.
func revsOfFew(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		if len(ops) > 256 {
			ops = double.CopyOps(ops)
			for i := range ops {
				if ops[i].If == driver.AtRev && ops[i].Do == driver.Put {
					ops[i].If = driver.Present
				}
			}
		}
		return b.Store.Commit(ctx, token, ops)
	}
}
