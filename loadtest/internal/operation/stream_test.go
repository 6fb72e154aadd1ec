package operation

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

func streamOf(t *testing.T, w *workload.Workload) *Stream {
	t.Helper()
	data, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewStream(w, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// digest returns a hash of operations with all their parameters.
func digest(calls []Call) string {
	h := sha256.New()
	for i := range calls {
		k := &calls[i]
		fmt.Fprintf(h, "%s|%v|%s|%v|%s\n", k.Q.Name, k.Key, k.Find, k.Edits, value.Canonical(k.Record))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestSameSeedSameOperations(t *testing.T) {
	first := streamOf(t, testload.Parsed(t, workload.Parse, testload.Small))
	second := streamOf(t, testload.Parsed(t, workload.Parse, testload.Small))
	other := streamOf(t, testload.Parsed(t, workload.Parse, strings.Replace(testload.Small, "seed: 3", "seed: 4", 1)))
	want := digest(first.Mixed("round 1", 2000, 100))
	if got := digest(second.Mixed("round 1", 2000, 100)); got != want {
		t.Error("the same seed gives other operations")
	}
	second.Mixed("round 7", 10, 0)
	if got := digest(second.Mixed("round 1", 2000, 100)); got != want {
		t.Error("what was drawn before changes the operations")
	}
	if digest(first.Mixed("round 2", 2000, 100)) == want {
		t.Error("two rounds have the same operations")
	}
	if digest(other.Mixed("round 1", 2000, 100)) == want {
		t.Error("another seed gives the same operations")
	}
}

func TestMixHasTheWeights(t *testing.T) {
	w := testload.Parsed(t, workload.Parse, testload.Small)
	s := streamOf(t, w)
	const n = 20_000
	count := map[string]int{}
	keys := map[string]bool{}
	for _, k := range s.Mixed("round 1", n, 0) {
		count[k.Q.Name]++
		if k.Record != nil {
			keys[value.Identity(k.Record, k.Q.Collection.Key())] = true
		}
	}
	for _, q := range w.Queries {
		if share := 100 * float64(count[q.Name]) / n; math.Abs(share-q.Weight) > 1.5 {
			t.Errorf("%s: %.1f %%, want %v %%", q.Name, share, q.Weight)
		}
	}
	if len(keys) != count["new post"] {
		t.Errorf("%d inserts have %d keys", count["new post"], len(keys))
	}
}

// Parameters are those of a record of the data, so that queries find something.
func TestParametersAreDrawnFromTheData(t *testing.T) {
	s := streamOf(t, testload.Parsed(t, workload.Parse, testload.Small))
	tags := map[string]bool{"go": true, "redis": true, "sql": true}
	for _, k := range s.Only(2, 200, 0) {
		text := k.Find.String()
		tag := text[strings.IndexByte(text, '"')+1 : strings.LastIndexByte(text, '"')]
		if !tags[tag] {
			t.Fatalf("query %s", text)
		}
	}
	ids := map[any]bool{}
	for _, v := range s.Data[0].Column("id") {
		ids[v] = true
	}
	for _, k := range s.Only(0, 200, 0) {
		if !ids[k.Key[1]] {
			t.Fatalf("key %v is not in the data", k.Key)
		}
	}
}
