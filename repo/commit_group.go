package repo

import (
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// fits refuses a commit of several records that is so large that others would wait for the store.
func (c *writer) fits(writes []write, ops []driver.Op) error {
	f := &c.store.facts
	if len(writes) < 2 {
		return nil
	}
	if f.MaxOps > 0 && len(ops) > f.MaxOps {
		return tooManyRows(f, len(writes), len(ops))
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
		n += bytesIn(ops[i].Row.Key, ops[i].Row.Fields, ops[i].Row.Extra)
	}
	return n
}

func tooManyRows(f *driver.Facts, records, rows int) error {
	return fmt.Errorf("%d records with %d rows, those of indexes included, and %s takes at most %d in one commit, or others would wait; split the group: %w",
		records, rows, f.Name, f.MaxOps, driver.ErrTooLarge)
}

// addGone sees to it that what is not there, and is to be deleted together with
// other changes, still is not there when these are done.
func addGone(b *builder, c *layoutC, writes []write) {
	for i := range writes {
		if writes[i].isGone() {
			*b.op() = driver.Op{Do: driver.Check, If: driver.Absent, Table: c.records, Row: driver.Row{Key: writes[i].key}}
			b.owner = append(b.owner, i)
		}
	}
}

// refusalOf returns the refusal that the op on a record would meet.
func refusalOf(b *builder, c *layoutC, row *driver.Row) *driver.Refusal {
	at := slices.IndexFunc(b.ops, func(op driver.Op) bool { return op.Table == c.records && op.Row.Key == row.Key })
	return &driver.Refusal{Op: at, Row: *row}
}

// checkRefusal sees that a refusal speaks of an op, and an edit, that there is.
func checkRefusal(b *builder, refusal *driver.Refusal) error {
	if refusal.Op < 0 || refusal.Op >= len(b.ops) {
		return fmt.Errorf("the store refused op %d of %d: %w", refusal.Op, len(b.ops), driver.ErrInternal)
	}
	op := &b.ops[refusal.Op]
	if refusal.Overflow && (refusal.Edit < 0 || refusal.Edit >= len(op.Edits)) {
		return fmt.Errorf("the store refused edit %d of %d: %w", refusal.Edit, len(op.Edits), driver.ErrInternal)
	}
	return checkWidth(&refusal.Row, op.Table, nil)
}
