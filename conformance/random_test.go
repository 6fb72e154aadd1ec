package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

// brokenSuite returns a suite on a store that a fault breaks.
func brokenSuite(t *testing.T, f fault) *suite {
	t.Helper()
	return brokenUnit(t, driver.UnitStore, f)
}

func brokenUnit(t *testing.T, unit driver.Unit, f fault) *suite {
	t.Helper()
	b := newBroken(unit)
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
		"tokens forgotten":        opFault(func(_ *broken, op *driver.Op) bool { op.Row.Note = ""; return true }),
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
			findsWith(t, brokenUnit(t, driver.UnitPartition, f))
		})
	}
}

// findsWith sees that random operations find what is wrong with a store, and show it with few.
func findsWith(t *testing.T, s *suite) {
	t.Helper()
	const most = 12 // operations that are left: some faults show by chance, and are shrunk less
	m, ok := errors.AsType[*mismatch](s.compare(t.Context(), 1, 20_000, quiet))
	if !ok {
		t.Fatal("20,000 random operations find nothing")
	}
	n := shrunkTo(t, m)
	if n > most {
		t.Errorf("shrunk to %d operations, want at most %d:\n%s", n, most, m.got)
	}
	if !strings.Contains(m.got, "seed 1, episode ") || !strings.Contains(m.got, ", want ") {
		t.Errorf("the report names no seed or no answers:\n%s", m.got)
	}
}

func shrunkTo(t *testing.T, m *mismatch) int {
	t.Helper()
	found := regexp.MustCompile(`shrunk to (\d+) operations`).FindStringSubmatch(m.got)
	if found == nil {
		t.Fatalf("not shrunk:\n%s", m.got)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The same seed gives the same operations, and another one others.
func TestSeeds(t *testing.T) {
	text := func(seed uint64) string { return fmt.Sprint(episode(seed, 0), episode(seed, 1)) }
	first := text(7)
	if again := text(7); first != again {
		t.Error("one seed gives different operations")
	}
	if first == text(8) {
		t.Error("two seeds give the same operations")
	}
}

// Every verb, and every form of a query, is drawn, and most operations do something.
func TestOperationsAreMixed(t *testing.T) {
	seen, done := map[string]int{}, 0
	s := brokenSuite(t, func(*broken) {})
	p, err := s.pair(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i := range 20 {
		for _, op := range episode(3, i) {
			seen[op.verb]++
			if op.verb == "pass" {
				continue
			}
			total++
			if out := p.reference.do(t.Context(), op); !strings.Contains(out, "not found") && !strings.HasPrefix(out, "0") && out != "invalid" {
				done++
			}
		}
	}
	for _, verb := range []string{"insert", "put", "replace", "patch", "update", "delete", "group", "insert all", "pass", "maintain", "walk", "get", "exists", "get many",
		"find", "keys", "count", "view", "one", "page", "scan", "verify"} {
		if seen[verb] < 3 {
			t.Errorf("%s came %d times in 20 episodes", verb, seen[verb])
		}
	}
	if done < total/2 {
		t.Errorf("only %d of %d operations found something to do", done, total)
	}
}
