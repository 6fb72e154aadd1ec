package loadtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// A bare store keeps no index by itself.
type bare struct{ *watched }

func (s bare) Facts() driver.Facts {
	f := s.watched.Facts()
	f.Name, f.Native, f.NativeOrder = "bare", driver.Ability{Reason: "it is bare"}, nil
	return f
}

// A model that one of the stores cannot have is not there on it, with the reason, and
// measured on the other one.
func TestModelThatAStoreCannotHave(t *testing.T) {
	one, other := newWatched(), newWatched()
	result, err := runWith(t, mustParse(t, testload.Kinds), one, bare{other}, func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	one.check(t)
	other.check(t)
	reason := "kind native: bare keeps no index of its own: it is bare; use kind auto"
	want := []AbsentResult{
		{Name: "native on bare", Model: "native", Store: "other:", Reason: "posts: index by_category_created_desc: " + reason + "; and 1 more"},
		{Name: "one native on bare", Model: "one native", Store: "other:", Reason: "posts: index by_tags_created_desc: " + reason},
	}
	if diff := cmp.Diff(want, result.NotThere); diff != "" {
		t.Errorf("not there (-want +got):\n%s", diff)
	}
	requests := map[string]float64{}
	for _, c := range result.Candidates {
		requests[c.Name] = c.Queries[1].RequestsEach // ten records of a category
	}
	// A native index has the whole record, and so has a table that covers it.
	wantEach := map[string]float64{"tables on memory": 1, "native on memory": 1, "one native on memory": 11, "left open on memory": 1, "tables on bare": 1, "left open on bare": 1}
	if diff := cmp.Diff(wantEach, requests); diff != "" {
		t.Errorf("requests of a query (-want +got):\n%s", diff)
	}
	if len(result.Verdicts) != 1 || len(result.Verdicts[0].Ranked) != 6 {
		t.Errorf("verdicts %+v, want one of six candidates", result.Verdicts)
	}
	text := strings.Join(strings.Fields(result.Text), " ")
	for _, want := range []string{"4 models; 200/s", "not there native on bare: posts: index by_category_created_desc: " + reason, "6 candidates agree"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, result.Text)
		}
	}
}

// Where no store has any model there is nothing to measure.
func TestNoModelIsThere(t *testing.T) {
	s := newWatched()
	text := testload.Kinds[:strings.Index(testload.Kinds, "models:")] + "models:\n  - {name: native, kind: native}\n"
	_, err := Run(t.Context(), mustParse(t, text), options(bare{s}))
	if err == nil || !strings.Contains(err.Error(), "no store has any of the models; native: posts: index by_category_created_desc: kind native: bare keeps no index") {
		t.Errorf("%v, want that there is no model", err)
	}
	s.check(t)
}
