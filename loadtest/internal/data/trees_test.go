package data

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// nodes returns the lines of a data file: "suite/path/folder" in each word.
func nodes(words string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(words) {
		part := strings.Split(word, "/")
		fmt.Fprintf(&b, `{"suite":%q,"path":%q,"folder":%q}`+"\n", part[0], part[1], part[2])
	}
	return b.String()
}

func forestOf(t *testing.T, words string) *workload.Workload {
	t.Helper()
	return testload.Parsed(t, workload.Parse, testload.ForestOf(t, nodes(words)))
}

func TestTreesAreSurveyed(t *testing.T) {
	tables, err := Survey(t.Context(), forestOf(t, "one/a/ one/b/a one/c/b one/d/a two/a/ two/b/a one2/x/"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := tables[0]; !slices.Equal(got.Parents, []int32{-1, 0, 1, 0, -1, 4, -1}) || !slices.Equal(got.Below, []int32{3, 1, 0, 0, 1, 0, 0}) || !slices.Equal(got.First, []int32{0, 0, 0, 0, 4, 4, 6}) {
		t.Errorf("parents %v, below %v, first %v", got.Parents, got.Below, got.First)
	}
	for i, want := range [][2]int{{0, 4}, {0, 4}, {0, 4}, {0, 4}, {4, 2}, {4, 2}, {6, 1}} {
		if first, n := tables[0].Mates(i); first != want[0] || n != want[1] {
			t.Errorf("in the tree of record %d there are %d from %d on, want %v", i, n, first, want)
		}
	}
}

func TestTreeFaults(t *testing.T) {
	for _, tt := range []struct{ name, words, place, want string }{
		{"id twice", "one/a/ one/b/a one/a/b", ":3:", `the key "one/a" is that of line 1, too`},
		{"unknown parent", "one/a/ one/b/x", ":2:", `its folder "x" is the path of no record; a root has none`},
		{"parent in another tree", "one/a/ two/b/a", ":2:", `its folder "a" is the path of no record`},
		{"parent later", "one/a/ one/b/c one/c/a", ":2:", `its folder "c" comes later, in line 3; write parents before their children`},
		{"cycle", "one/a/ one/b/c one/c/b one/d/a", ":2:", `it lies below itself: "c" is its folder, or that of one above it`},
		{"long cycle", "one/a/c one/b/a one/c/b", ":1:", "it lies below itself"},
		{"parent of itself", "one/a/ one/b/b", ":2:", "it lies below itself"},
		{"below a cycle", "one/x/b one/b/c one/c/b", ":1:", `comes later, in line 2`},
		{"no root", "one/a/b", ":1:", "is the path of no record"},
		{"tree again", "one/a/ two/a/ one/b/a", ":3:", `tree "one" began in line 1, and others came between; keep the nodes of a tree together`},
		{"empty id", "one// one/b/", ":1:", "its path is empty, and a node must have one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := forestOf(t, tt.words)
			_, err := Survey(t.Context(), w, nil)
			var faults failure.Faults
			if !errors.As(err, &faults) {
				t.Fatalf("got %v, want Faults", err)
			}
			if got := err.Error(); !strings.Contains(got, filepath.Base(w.Collections[0].Data.File)+tt.place) || !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant it to contain %q and %q", testload.Short(got), tt.place, tt.want)
			}
		})
	}
}

// The first nodes of a file are trees, too, since parents come first.
func TestFirstNodesAreTrees(t *testing.T) {
	w := forestOf(t, "one/a/ one/b/a one/c/b two/a/ two/b/x")
	for w.Records = 1; w.Records < 5; w.Records++ {
		if tables, err := Survey(t.Context(), w, nil); err != nil || tables[0].Len != w.Records {
			t.Errorf("%d records: %v", w.Records, err)
		}
	}
}
