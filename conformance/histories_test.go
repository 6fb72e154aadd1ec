package conformance

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/history"
	"github.com/polystore/polystore/repo/driver"
)

// historiesOf makes up to n histories of one kind and returns the first that cannot
// be explained.
func historiesOf(t *testing.T, s *suite, kind, n int) error {
	t.Helper()
	r, err := history.Entries(t.Context(), s.Target())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := history.NewHistory(r, 1, i).Run(t.Context(), history.KindsOf(driver.ScopeStore)[kind]); err != nil {
			return err
		}
	}
	return nil
}

// A store on which what clients saw cannot be explained is found by the history that
// is about it.
func TestHistoriesFind(t *testing.T) {
	const records, values, indexes, lists = 0, 1, 2, 3
	tests := []struct {
		name   string
		broken fault
		kind   int
		want   string
	}{
		{"lost updates", racy(), records, "an order of the calls on a record"},
		{"reads of what was there before", lateGets, records, "an order of the calls on a record"},
		{"conditions forgotten", forgets(driver.AtRev, driver.Any), records, "an order of the calls on a record"},
		{"values claimed twice", freeForAll(), values, "an order of the calls on a unique value"},
		{"claims that stay", keepsRows(), values, "an order of the calls on a unique value"},
		{"index rows that come late", rowsLater(3*time.Millisecond, true), indexes, "every record that had the value during the whole call"},
		{"index rows that stay", keepsRows(), indexes, "only records that had the value during the call"},
		{"local rows that are lost", localRowsLost(), indexes, "by a local index to find every record that had the value during the whole call"},
		{"lost edits", forgets(driver.AtRev, driver.Any), lists, "an order of the calls on a list"},
		{"lists that were there before", lateGets, lists, "an order of the calls on a list"},
		{"nothing is answered", unavailable, records, "calls on a record to be answered"},
		{"no lookup is answered", unavailable, indexes, "calls on an index to be answered"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := historiesOf(t, brokenSuite(t, func(*broken) {}), tt.kind, 3); err != nil {
				t.Errorf("the store that nothing breaks: %v", err)
			}
			m, ok := errors.AsType[*finding.Mismatch](historiesOf(t, brokenSuite(t, tt.broken), tt.kind, 200))
			if !ok {
				t.Fatal("200 histories find nothing")
			}
			if !strings.Contains(m.Want, tt.want) {
				t.Errorf("found the want of %q, not of %q:\n%s", m.Want, tt.want, m.Got)
			}
		})
	}
}

// localRowsLost finds nothing by the indexes that lie in the partitions of their records.
func localRowsLost() fault {
	return rowFault(func(s *driver.Span, _ int, _ *driver.Row) bool {
		return s.Table.Class != driver.Rows || s.Table.Partition[0].Name != "part"
	})
}

// unavailable fails every call but those about the catalog.
func unavailable(b *broken) {
	b.commit = func(context.Context, driver.Token, []driver.Op) (*driver.Refusal, error) {
		return nil, driver.ErrUnavailable
	}
	b.get = func(context.Context, *driver.Table, []driver.Key, []int, []driver.Row) error {
		return driver.ErrUnavailable
	}
	b.ranged = func(context.Context, driver.Span) iter.Seq2[*driver.Row, error] {
		return func(yield func(*driver.Row, error) bool) { yield(nil, driver.ErrUnavailable) }
	}
}
