//go:build unix

package versions_test

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/raw"
)

// tables are all that the collection of logins may have.
var tables = raw.Tables{
	"": {Ends: "#"}, byUser: {Ends: "#~#", Remote: true}, bySeen: {Ends: "###", Remote: true}, once: {Ends: "##"}, kept: {Ends: "###"},
}

// rowsNow returns all rows of the collection as the store's own driver shows them, when nothing changes them any more.
func (r *roll) rowsNow() (rows []raw.Row) {
	r.t.Helper()
	source, err := r.source()
	if err != nil {
		r.t.Fatal(err)
	}
	defer source.Close()
	for before := []raw.Row(nil); ; before = rows {
		if rows, err = source.Reader(r.collection, tables)(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		slices.SortFunc(rows, func(a, b raw.Row) int { return strings.Compare(nameOf(&a), nameOf(&b)) })
		if reflect.DeepEqual(before, rows) {
			return rows
		}
	}
}

func nameOf(r *raw.Row) string { return fmt.Sprintf("%s.%s %q %s", r.Table, r.Turn, r.Parts, r.Token) }

// A comparison is what rows say of each other.
type comparison struct {
	faults  []string
	records int
	garbage int // rows of indexes that are apart from the records, which no record has
}

func (c *comparison) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// compareRows compares the rows of indexes with the records. Each record has one row in each index that is ready, and
// there are no others, but that indexes which are apart may have garbage.
func compareRows(rows []raw.Row, ready []string, apart bool) *comparison {
	c := &comparison{}
	records, counts, turns := map[string]*raw.Row{}, map[[2]string]int{}, map[string]string{}
	for i := range rows {
		if r := &rows[i]; r.Table == "" && !r.Dead {
			records[r.Parts[0]] = r
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.Table == "" {
			continue
		}
		if turn, ok := turns[r.Table]; !slices.Contains(ready, r.Table) || ok && turn != r.Turn {
			c.fault("a row of the index %s, turn %q, which was dropped: %q", r.Table, r.Turn, r.Parts)
			continue
		}
		turns[r.Table] = r.Turn
		id := idOf(r)
		of := records[id]
		switch {
		case of != nil && isRowOf(r, of) && (!apart || of.Has(r)):
			counts[[2]string{r.Table, id}]++
		case apart && (of == nil || !of.Has(r)):
			c.garbage++
		default:
			c.fault("a row of %s says %q, %v; the record of %s is %v", r.Table, r.Parts, r.Fields, id, of)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(records)) {
		for _, index := range ready {
			if n := counts[[2]string{index, id}]; n != 1 {
				c.fault("%s has %d rows in %s: %v", id, n, index, records[id].Fields)
			}
		}
	}
	c.records = len(records)
	return c
}

// idOf returns which record a row names.
func idOf(r *raw.Row) string { return strings.TrimSuffix(r.Parts[len(r.Parts)-1], "#") }

// isRowOf reports whether a row says what its record says, in its key and in the fields that it has.
func isRowOf(r, record *raw.Row) bool {
	user, seen, id := record.Fields["user"], record.Fields["seen"], record.Parts[0]
	n, err := strconv.ParseInt(seen, 10, 64)
	if err != nil || n < 0 {
		return false
	}
	want := map[string][]string{
		byUser: {user, fmt.Sprintf("%016x", math.MaxInt64-n), id},
		bySeen: {user, string(rune('a'+len(seen)-1)) + seen, id},
		once:   {user, id},
		kept:   {seen, user, id + "#"}, // values, and the _id of the record
	}
	if owner := r.Fields["_key"]; r.Table == once && owner != id+"#" {
		return false
	}
	for _, name := range []string{"user", "seen"} {
		if value, ok := r.Fields[name]; ok && value != record.Fields[name] {
			return false
		}
	}
	return slices.Equal(r.Parts, want[r.Table])
}

// The control: rows that are missing, changed, there twice or left of a dropped index are noticed.
func control(t *testing.T, rows []raw.Row, ready []string, apart bool) {
	t.Helper()
	for _, index := range ready {
		at := slices.IndexFunc(rows, func(r raw.Row) bool {
			return r.Table == index && slices.ContainsFunc(rows, func(of raw.Row) bool {
				return of.Table == "" && !of.Dead && of.Parts[0] == idOf(&r) && isRowOf(&r, &of) && (!apart || of.Has(&r))
			})
		})
		if at < 0 {
			t.Errorf("no record has a row in %s", index)
			continue
		}
		without := slices.Delete(slices.Clone(rows), at, at+1)
		moved := rows[at]
		moved.Parts = slices.Clone(moved.Parts)
		moved.Parts[0] += "x"
		left := rows[at]
		left.Turn += "z"
		for what, wrong := range map[string][]raw.Row{
			"missing": without, "moved": append(slices.Clone(without), moved), "wrong": append(slices.Clone(rows), moved),
			"twice": append(slices.Clone(rows), rows[at]), "left": append(slices.Clone(rows), left),
		} {
			if c := compareRows(wrong, ready, apart); len(c.faults) == 0 {
				t.Errorf("a row of %s that is %s is not noticed", index, what)
			}
		}
	}
	if c := compareRows(rows, nil, apart); len(c.faults) == 0 {
		t.Error("rows of indexes that were dropped are not noticed")
	}
}
