package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/history"
	"github.com/polystore/polystore/repo/driver"
)

// torn does the ops of a group one collection after the other.
func torn() fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			first := ops[0].Table.Name
			if strings.HasPrefix(first, "_") {
				return b.Store.Commit(ctx, token, ops)
			}
			var lists [2][]driver.Op
			for _, op := range ops {
				i := 1
				if name, _, _ := strings.Cut(op.Table.Name, "."); name == first {
					i = 0
				}
				lists[i] = append(lists[i], op)
			}
			refusal, err := b.Store.Commit(ctx, token, lists[0])
			if err != nil || refusal != nil || len(lists[1]) == 0 {
				return refusal, err
			}
			time.Sleep(time.Millisecond)
			return b.Store.Commit(ctx, token, lists[1])
		}
	}
}

// Groups of two collections that are not one commit are found by histories of twins.
func TestTwinHistoriesFind(t *testing.T) {
	t.Parallel()
	const kinds = 4 // the last is that of twins
	if err := history.Record(t.Context(), brokenSuite(t, func(*broken) {}).Target(), 1, 5*kinds, quiet); err != nil {
		t.Errorf("the store that nothing breaks: %v", err)
	}
	m, ok := errors.AsType[*finding.Mismatch](history.Record(t.Context(), brokenSuite(t, torn()).Target(), 1, 50*kinds, quiet))
	if !ok || !strings.Contains(m.Want, "a record and its twin") {
		t.Errorf("groups that are torn apart: %v, want no order of the calls on a record and its twin", m)
	}
}
