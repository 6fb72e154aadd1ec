package conformance

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/random"
	"github.com/polystore/polystore/repo/driver"
)

// brokenSuite returns a suite on a store that a fault breaks.
func brokenSuite(t *testing.T, f fault) *suite {
	t.Helper()
	return brokenScope(t, driver.ScopeStore, f)
}

func brokenScope(t *testing.T, scope driver.Scope, f fault) *suite {
	t.Helper()
	b := newBroken(scope)
	f(b)
	s, err := newSuite(t.Context(), func(context.Context) (driver.Store, error) { return b, nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func quiet(string, int, int) {}

// A store that answers otherwise than the reference is found, and the operations
// that show it are few.
func TestRandomOperationsFind(t *testing.T) {
	tests := []struct {
		name   string
		broken fault
	}{
		{"index rows left behind", keepsRows()},
		{"no index rows", noRows()},
		{"conditions forgotten", forgets(driver.AtRev, driver.Any)},
		{"keys in lower case", classKeyFault(driver.Rows, strings.ToLower)},
		{"the last row of a limited range lost", withoutLast()},
		{"the end of a range in it", inclusive()},
		{"expiry cut to seconds", expiryOf(nil, func(ms int64) int64 { return ms / 1000 * 1000 })},
		{"undeclared fields lost", noExtra()},
		{"taken values given away", freeForAll()},
		{"edits lost", lostEdits},
		{"commits in pieces", oneByOne()},
		{"a bucket lost", noBucket()},
		{"records that are still there", keepsAll()},
		{"a walk with holes", walksPast()},
		{"long lists cut", func(b *broken) {
			b.value = func(v driver.Value) driver.Value {
				if v.Kind() == driver.List && len(v.List()) > 2 { // which no record has before something is pushed
					return driver.ListValue(v.List()[:2])
				}
				return v
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			findsWith(t, brokenSuite(t, tt.broken))
		})
	}
}

// The same where rows and unique values are kept apart from their records, by a protocol
// that the reference does not need: what breaks it is found, too.
func TestRandomOperationsFindApart(t *testing.T) {
	for name, f := range map[string]fault{
		"no index rows":           noRows(),
		"tokens forgotten":        opFault(func(_ *broken, op *driver.Op) bool { op.Row.Meta = ""; return true }),
		"taken values given away": freeForAll(),
		"claims never freed": opFault(func(_ *broken, op *driver.Op) bool {
			if op.Table.Class == driver.Claims && op.If == driver.AtRev {
				op.Rev = driver.NewToken()
			}
			return true
		}),
		"conditions forgotten": forgets(driver.AtRev, driver.Any),
		"edits lost":           lostEdits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findsWith(t, brokenScope(t, driver.ScopePartition, f))
		})
	}
}

// findsWith sees that random operations find what is wrong with a store, and show it with few.
func findsWith(t *testing.T, s *suite) {
	t.Helper()
	const most = 12 // operations that are left: some faults show by chance, and are shrunk less
	m, ok := errors.AsType[*finding.Mismatch](random.Compare(t.Context(), s.Target(), 1, 20_000, quiet))
	if !ok {
		t.Fatal("20,000 random operations find nothing")
	}
	n := shrunkTo(t, m)
	if n > most {
		t.Errorf("shrunk to %d operations, want at most %d:\n%s", n, most, m.Got)
	}
	if !strings.Contains(m.Got, "seed 1, episode ") || !strings.Contains(m.Got, ", want ") {
		t.Errorf("the report names no seed or no answers:\n%s", m.Got)
	}
}

func shrunkTo(t *testing.T, m *finding.Mismatch) int {
	t.Helper()
	found := regexp.MustCompile(`shrunk to (\d+) operations`).FindStringSubmatch(m.Got)
	if found == nil {
		t.Fatalf("not shrunk:\n%s", m.Got)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
