package operation_test

import (
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// Of a short round all reads by key are checked; of a long one so many, and those of a record that was written just before.
// Of others it is one in so many.
func TestReadsByKeyAreChecked(t *testing.T) {
	w := testload.Parsed(t, workload.Parse, strings.Replace(testload.Small, "kind: update, add", "draw: zipf, kind: update, add", 1))
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := operation.NewStream(w, tables)
	if err != nil {
		t.Fatal(err)
	}
	const soon = 20 // operations in 100 ms, at 200 a second
	for _, n := range []int{1000, 20_000} {
		byKey, checked, others, fresh := 0, 0, 0, 0
		written := map[any]int{}
		calls := s.Mixed("test", n, 0)
		for i := range calls {
			switch k := &calls[i]; k.Q.Name {
			case "read":
				written[k.Key[1]] = i + 1
			case "one post":
				if byKey++; k.Checked {
					checked++
				}
				if at := written[k.Key[1]]; at > 0 && i+1-at <= soon {
					if fresh++; !k.Checked {
						t.Errorf("operation %d of %d reads what %d writes, and is not checked", i, n, at-1)
					}
				}
			default:
				if k.Checked {
					others++
				}
			}
		}
		if want := min(byKey, limit.CheckedKeys); checked < want*9/10 || checked > want+fresh+n/limit.CheckedShare || fresh == 0 || others > n/8 {
			t.Errorf("of %d reads by key %d are checked, %d of them soon after a write, and %d other calls", byKey, checked, fresh, others)
		}
	}
}
