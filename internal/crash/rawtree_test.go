package crash_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/raw"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// childrenTable has a row for each node: its tree, parent, place and ID.
const childrenTable = "children"

// treeTables are the tables of nodes that are read.
var treeTables = raw.Tables{"": {Ends: "##"}, childrenTable: {Ends: "####"}}

// read returns the rows of the nodes as the store's own driver shows them, in order.
func (o *orchard) read(t *testing.T) []raw.Row {
	t.Helper()
	rows, err := o.rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b raw.Row) int {
		return strings.Compare(a.Table+" "+strings.Join(a.Parts, "#"), b.Table+" "+strings.Join(b.Parts, "#"))
	})
	return rows
}

// standing is standingOf, and the rows as they were then. What the server was doing for a killed client may be done
// between the readings of the one and of the other: then both are read again.
func (o *orchard) standing(ctx context.Context, t *testing.T, store *repo.Store, name string, rows []raw.Row) (*standing, []raw.Row, error) {
	t.Helper()
	for {
		s, err := standingOf(ctx, store, o.collection, name)
		if err != nil || o.alone {
			return s, rows, err
		}
		after := o.read(t)
		if reflect.DeepEqual(rows, after) {
			return s, rows, nil
		}
		rows = after
	}
}

// The control: a row that is missing, one too many, and one of another node are noticed.
func (o *orchard) controlRows(t *testing.T, name string, rows []raw.Row) {
	o.by(t, "", func(ctx context.Context, store *repo.Store, _ *tree.Forest[leaf]) error {
		s, err := standingOf(ctx, store, o.collection, name)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(rows, func(r raw.Row) bool { return r.Parts[0] == name && !r.Dead && r.Table == "" })
		if !o.native {
			at = slices.IndexFunc(rows, func(r raw.Row) bool { return r.Parts[0] == name && r.Table == childrenTable })
		}
		other := rows[at]
		other.Parts = slices.Clone(other.Parts)
		other.Parts[len(other.Parts)-1] = "nobody"
		for what, wrong := range map[string][]raw.Row{
			"missing": slices.Delete(slices.Clone(rows), at, at+1), "twice": append(slices.Clone(rows), rows[at]), "of another": append(slices.Clone(rows), other),
		} {
			if len(o.differ(name, wrong, s)) == 0 {
				t.Errorf("a row that is %s is not noticed", what)
			}
		}
		if faults := o.differ(name, rows, s); len(faults) > 0 {
			t.Errorf("a tree that nobody changes: %q", faults)
		}
		return nil
	})
}

// differ returns how the rows of a tree differ from what package repo shows: each node has a record with its parent in
// it, and one row among the children of that parent, and there are no others.
func (o *orchard) differ(name string, rows []raw.Row, s *standing) (faults []string) {
	if s.strategy() == "document" { // what the rows still say is no part of the tree
		return nil
	}
	records, listed := map[string]int{}, map[string]int{}
	for _, r := range rows {
		if r.Parts[0] != name || r.Dead || r.Table != "" && r.Table != childrenTable {
			continue
		}
		n := s.nodes[r.Parts[len(r.Parts)-1]]
		at := text(n, "parent")
		switch {
		case n == nil:
			faults = append(faults, fmt.Sprintf("%q: no node of %s", r.Parts, r.Table))
		case r.Table == "":
			records[text(n, "id")]++
			if !strings.Contains(r.Body, at) || o.native && !strings.Contains(r.Body, fmt.Sprintf("%q: %q", "parent", at)) {
				faults = append(faults, fmt.Sprintf("%q: %s does not name the parent %s", r.Parts, r.Body, at))
			}
		default:
			listed[text(n, "id")]++
			if want := []string{name, at, text(n, "place"), text(n, "id")}; !slices.Equal(r.Parts, want) {
				faults = append(faults, fmt.Sprintf("the row %q, want %q", r.Parts, want))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if records[id] != 1 || !o.native && listed[id] != 1 {
			faults = append(faults, fmt.Sprintf("%s has %d records and %d rows", id, records[id], listed[id]))
		}
	}
	return faults
}
