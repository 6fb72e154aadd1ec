package operation

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/tree"
)

// Nodes are drawn with as much below them as the query says, and what else is drawn is in the same tree.
func TestNodesAreDrawn(t *testing.T) {
	w := testload.Parsed(t, workload.Parse, testload.Forest(t))
	s := streamOf(t, w)
	table, records := s.Data[0], map[string]int{}
	for i := range table.Len {
		records[fmt.Sprint(table.Column("suite")[i], "/", table.Column("path")[i])] = i
	}
	for at, q := range w.Queries {
		trees := map[any]bool{}
		for _, k := range s.Only(at, 100, 0) {
			if k.Record != nil {
				if _, there := records[fmt.Sprint(k.Record["suite"], "/", k.Record["folder"])]; !there {
					t.Errorf("%s: %v comes below a node of another tree", q.Name, k.Record)
				}
				continue
			}
			i := records[fmt.Sprint(k.Key[0], "/", k.Key[1])]
			trees[k.Key[0]] = true
			if below := int(table.Below[i]); below < q.Below.Min || below > q.Below.Max || q.Kind == "ancestors" && table.Parents[i] < 0 {
				t.Errorf("%s draws %v with %d nodes below it, want %v", q.Name, k.Key, below, q.Below)
			}
			if _, there := records[fmt.Sprint(k.Key[0], "/", k.To)]; !there && k.To != "" {
				t.Errorf("%s goes below %q, which is in another tree", &k, k.To)
			}
		}
		if len(trees) != 3 && q.Kind != "insert" {
			t.Errorf("%s draws from the trees %v, want all three", q.Name, trees)
		}
	}
}

func TestNothingToDrawOfTrees(t *testing.T) {
	w := testload.Parsed(t, workload.Parse, strings.Replace(testload.Forest(t), "below: {max: 50}", "below: {min: 1000}", 1))
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewStream(w, tables)
	var faults failure.Faults
	if !errors.As(err, &faults) || !strings.Contains(err.Error(), "small.yaml:17:") || !strings.Contains(err.Error(), "query below: it draws nodes of files below which there are 1000 or more others, and there is none; give it other bounds") {
		t.Errorf("got %v, want that there are no such nodes", err)
	}
}

// What a tree refuses is an outcome, not a failure.
func TestRefusalsAreOutcomes(t *testing.T) {
	for _, err := range []error{tree.ErrBelowItself, fmt.Errorf("delete: %w", tree.ErrHasChildren)} {
		if o := OutcomeOf(t.Context(), err); o.String() != "refused" || !o.Nothing() {
			t.Errorf("%v ends with %q", err, o)
		}
	}
	if o := OutcomeOf(t.Context(), tree.ErrBelowItself.(interface{ Unwrap() error }).Unwrap()); o != Failed {
		t.Errorf("what is invalid for another reason ends with %q", o)
	}
}
