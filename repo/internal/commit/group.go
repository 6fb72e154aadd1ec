package commit

import (
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// fits refuses a commit of several records that is so large that others would wait for the store.
func (c *Writer) fits(writes []Write, ops []driver.Op) error {
	f := &c.Store.Facts
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

// addGone sees to it that what is not there, and is to be deleted together with
// other changes, still is not there when these are done.
func addGone(b *change.Builder, c *layout.Layout, writes []Write) {
	for i := range writes {
		if writes[i].isGone() {
			*b.Op() = driver.Op{Do: driver.Check, If: driver.Absent, Table: c.Records, Row: driver.Row{Key: writes[i].Key}}
			b.Owner = append(b.Owner, i)
		}
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
