package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// fits refuses a commit of several records that is so large that others would wait for the store.
func fits(writes []Write, ops []driver.Op) error {
	f := &writes[0].By.Store.Facts
	if len(writes) < 2 {
		return nil
	}
	if f.MaxOps > 0 && len(ops) > f.MaxOps {
		return TooManyRows(f, len(writes), len(ops))
	}
	if n := bytesOf(ops); f.MaxBytes > 0 && n > f.MaxBytes {
		return fmt.Errorf("%d records with about %d bytes, those of indexes included, and %s takes at most %d in one commit, or others would wait; split the group: %w",
			len(writes), n, f.Name, f.MaxBytes, driver.ErrTooLarge)
	}
	return nil
}

// bytesOf returns about how many bytes the keys and values of ops have.
func bytesOf(ops []driver.Op) (n int) {
	for i := range ops {
		n += record.BytesIn(ops[i].Row.Key, ops[i].Row.Fields, ops[i].Row.Extra)
	}
	return n
}

// TooManyRows is the error of a commit with more rows than the store takes at once.
func TooManyRows(f *driver.Facts, records, rows int) error {
	return fmt.Errorf("%d records with %d rows, those of indexes included, and %s takes at most %d in one commit, or others would wait; split the group: %w",
		records, rows, f.Name, f.MaxOps, driver.ErrTooLarge)
}

// addChecks appends the ops that only look: of checks, and of what is not there and is to be
// deleted together with other changes, so that it still is not there when these are done. They
// come last: what became of a commit its first record tells, and it tells of writes.
func addChecks(b *change.Builder, writes []Write) {
	for i := range writes {
		if w := &writes[i]; !w.changes() {
			b.Check(w.By.Layout, i, &w.Change)
		}
	}
}

// askAll is CommitAll of a group that writes nothing. Where no answer comes it asks again, which does no harm.
func (c *Writer) askAll(ctx context.Context, k *store.Call, b *change.Builder) (*driver.Refusal, error) {
	for attempt := 1; ; attempt++ {
		refusal, err := c.Store.Commit(ctx, k, b.Token, b.Ops)
		if !errors.Is(err, driver.ErrUnknownOutcome) {
			return refusal, err
		}
		if attempt > 3 || store.Pause(ctx, attempt) != nil {
			return nil, failure.GivenUp(ctx, "checks of records", err)
		}
	}
}

// changes reports whether w writes its record.
func (w *Write) changes() bool { return w.Verb != DoCheck && !w.isGone() }

// writersOf appends the writers of some writes, each once, in the order of their collections.
// Groups go by it, so that no two of them wait for each other.
func writersOf(dst []*Writer, writes []Write) []*Writer {
	for i := range writes {
		c := writes[i].By
		if len(dst) > 0 && i > 0 && c == writes[i-1].By {
			continue
		}
		at, there := slices.BinarySearchFunc(dst, c.Name, func(o *Writer, name string) int { return strings.Compare(o.Name, name) })
		if !there {
			dst = slices.Insert(dst, at, c)
		}
	}
	return dst
}

// enter enters the gates of all collections of a group.
func enter(ctx context.Context, k *store.Call, all []*Writer) error {
	for i, c := range all {
		if err := c.Enter(ctx, k); err != nil {
			if leave(k, all[:i]); len(all) > 1 {
				err = fmt.Errorf("collection %s: %w", c.Name, err)
			}
			return err
		}
	}
	return nil
}

func leave(k *store.Call, all []*Writer) {
	for _, c := range all {
		c.Leave(k)
	}
}

// refusalOf returns the refusal that the op on a record would meet.
func refusalOf(b *change.Builder, c *layout.Layout, row *driver.Row) *driver.Refusal {
	at := slices.IndexFunc(b.Ops, func(op driver.Op) bool { return op.Table == c.Records && op.Row.Key == row.Key })
	return &driver.Refusal{Op: at, Row: *row}
}

// checkRefusal sees that a refusal speaks of an op, and an edit, that there is.
func checkRefusal(b *change.Builder, refusal *driver.Refusal) error {
	if refusal.Op < 0 || refusal.Op >= len(b.Ops) {
		return fmt.Errorf("the store refused op %d of %d: %w", refusal.Op, len(b.Ops), driver.ErrInternal)
	}
	op := &b.Ops[refusal.Op]
	if refusal.Overflow && (refusal.Edit < 0 || refusal.Edit >= len(op.Edits)) {
		return fmt.Errorf("the store refused edit %d of %d: %w", refusal.Edit, len(op.Edits), driver.ErrInternal)
	}
	return store.CheckWidth(&refusal.Row, op.Table, nil)
}
