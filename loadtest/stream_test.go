package loadtest

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func streamOf(t *testing.T, w *Workload) *stream {
	t.Helper()
	data, err := survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStream(w, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// digest returns a hash of operations with all their parameters.
func digest(calls []call) string {
	h := sha256.New()
	for i := range calls {
		k := &calls[i]
		fmt.Fprintf(h, "%s|%v|%s|%v|%s\n", k.q.name, k.key, k.find, k.edits, canonical(k.record))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestSameSeedSameOperations(t *testing.T) {
	first := streamOf(t, mustParse(t, small))
	second := streamOf(t, mustParse(t, small))
	other := streamOf(t, mustParse(t, strings.Replace(small, "seed: 3", "seed: 4", 1)))
	want := digest(first.mixed("round 1", 2000, 100))
	if got := digest(second.mixed("round 1", 2000, 100)); got != want {
		t.Error("the same seed gives other operations")
	}
	second.mixed("round 7", 10, 0)
	if got := digest(second.mixed("round 1", 2000, 100)); got != want {
		t.Error("what was drawn before changes the operations")
	}
	if digest(first.mixed("round 2", 2000, 100)) == want {
		t.Error("two rounds have the same operations")
	}
	if digest(other.mixed("round 1", 2000, 100)) == want {
		t.Error("another seed gives the same operations")
	}
}

func TestMixHasTheWeights(t *testing.T) {
	w := mustParse(t, small)
	s := streamOf(t, w)
	const n = 20_000
	count := map[string]int{}
	keys := map[string]bool{}
	for _, k := range s.mixed("round 1", n, 0) {
		count[k.q.name]++
		if k.record != nil {
			keys[identity(k.record, k.q.collection.key())] = true
		}
	}
	for _, q := range w.queries {
		if share := 100 * float64(count[q.name]) / n; math.Abs(share-q.weight) > 1.5 {
			t.Errorf("%s: %.1f %%, want %v %%", q.name, share, q.weight)
		}
	}
	if len(keys) != count["new post"] {
		t.Errorf("%d inserts have %d keys", count["new post"], len(keys))
	}
}

// Parameters are those of a record of the data, so that queries find something.
func TestParametersAreDrawnFromTheData(t *testing.T) {
	s := streamOf(t, mustParse(t, small))
	tags := map[string]bool{"go": true, "redis": true, "sql": true}
	for _, k := range s.only(2, 200, 0) {
		text := k.find.String()
		tag := text[strings.IndexByte(text, '"')+1 : strings.LastIndexByte(text, '"')]
		if !tags[tag] {
			t.Fatalf("query %s", text)
		}
	}
	ids := map[any]bool{}
	for _, v := range s.data[0].column("id") {
		ids[v] = true
	}
	for _, k := range s.only(0, 200, 0) {
		if !ids[k.key[1]] {
			t.Fatalf("key %v is not in the data", k.key)
		}
	}
}

func TestZipf(t *testing.T) {
	const n, draws = 1000, 200_000
	r := newRand(1, "test", 0)
	hits := make([]int, n)
	p := newPicker(n, 0.99, 1, "test")
	for range draws {
		hits[p.pick(r)]++
	}
	most, second := 0, 0
	for _, h := range hits {
		if h > most {
			most, second = h, most
		} else if h > second {
			second = h
		}
	}
	// With exponent 0.99 over 1000 items the first has 12.9 % and twice the second's.
	if share := float64(most) / draws; math.Abs(share-0.129) > 0.01 {
		t.Errorf("the favourite has %.3f of the draws, want 0.129", share)
	}
	if ratio := float64(most) / float64(second); math.Abs(ratio-math.Pow(2, 0.99)) > 0.2 {
		t.Errorf("the favourite is drawn %.2f times as often as the second, want 1.99", ratio)
	}
	if hits[0] == most && hits[1] == second {
		t.Error("favourites are the first records of the data")
	}
	uniform := newPicker(n, 0, 1, "test")
	worst := 0
	clear(hits)
	for range draws {
		i := uniform.pick(r)
		hits[i]++
		worst = max(worst, hits[i])
	}
	if worst > 2*draws/n {
		t.Errorf("uniform draws hit one item %d times of %d", worst, draws)
	}
}

// Instants are drawn from a span of any length.
func TestTimesOverCenturies(t *testing.T) {
	w := mustParse(t, strings.Replace(small, "from: 2024-01-01, to: 2025-01-01", "from: 1000-01-01, to: 3000-01-01", 1))
	least, most := 3000, 1000
	for r := range rowsOf(t.Context(), w, w.collections[0], nil) {
		year := r.record["created"].(time.Time).Year()
		least, most = min(least, year), max(most, year)
	}
	if least < 1000 || least > 1200 || most < 2800 || most >= 3000 {
		t.Errorf("200 instants lie in %d to %d, want 1000 to 3000", least, most)
	}
}

// Records are a function of seed and number: read again, they are the same.
func TestGeneratedRecordsAreTheSame(t *testing.T) {
	w := mustParse(t, small)
	var first []string
	for r, err := range rowsOf(t.Context(), w, w.collections[0], nil) {
		if err != nil {
			t.Fatal(err)
		}
		first = append(first, canonical(r.record))
	}
	i := 0
	for r := range rowsOf(t.Context(), w, w.collections[0], nil) {
		if canonical(r.record) != first[i] {
			t.Fatalf("record %d is another one", i+1)
		}
		i++
	}
	if i != 200 {
		t.Errorf("%d records, want 200", i)
	}
}

const twoCollections = `workload: refs
collections:
  - collection: users
    partition: [user]
    fields: {user: string, age: int, score: float, vip: bool, note: string, home: map}
    data:
      count: 20
      fields:
        user: {sequence: 1, pattern: "u%d"}
        age: {int: {min: 20, max: 30}}
        score: {float: {min: 1, max: 2}}
        vip: {bool: 0.5}
        note: {missing: 0.5, value: hello}
        home: {map: {city: {choice: [Rome, Oslo]}, floor: {int: {max: 9}}}}
  - collection: posts
    partition: [author]
    sort: [id]
    fields: {author: string, id: int, slug: string, age: int}
    indexes: [{partition: [slug], unique: true}]
    data:
      count: 300
      fields:
        author: {ref: {collection: users, field: user, zipf: 1}}
        age: {ref: {collection: users, field: age}}
        id: {sequence: 5}
        slug: {template: "{author}-{id}!"}
queries:
  - {name: all, weight: 100, kind: find, collection: posts, where: {author: $}}
`

func TestGeneratorsOfSeveralCollections(t *testing.T) {
	w := mustParse(t, twoCollections)
	data, err := survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	age := map[any]any{}
	for i, u := range data[0].column("user") {
		age[u] = data[0].column("age")[i]
	}
	n := 0
	for r, err := range rowsOf(t.Context(), w, w.collections[1], data) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%s-%d!", r.record["author"], n+5); r.record["slug"] != want {
			t.Fatalf("slug %v, want %s", r.record["slug"], want)
		}
		if r.record["age"] != age[r.record["author"]] {
			t.Fatalf("record %v: age and author are of two users", r.record)
		}
		n++
	}
	notes := 0
	for r := range rowsOf(t.Context(), w, w.collections[0], nil) {
		rec := r.record
		if a := rec["age"].(int64); a < 20 || a > 30 {
			t.Errorf("age %d", a)
		}
		if s := rec["score"].(float64); s < 1 || s >= 2 {
			t.Errorf("score %v", s)
		}
		if _, ok := rec["home"].(map[string]any)["city"].(string); !ok {
			t.Errorf("home %v", rec["home"])
		}
		if rec["note"] != nil {
			notes++
		}
	}
	if notes == 0 || notes == 20 {
		t.Errorf("%d of 20 users have a note, want about half", notes)
	}
}

// A short run takes the first records of each collection, of generators and of files.
func TestRecords(t *testing.T) {
	for _, file := range []string{"../examples/blog/blog.yaml", "../examples/debian/debian.yaml"} {
		w, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		w.Records = 7
		data, err := survey(t.Context(), w, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range data {
			if d.n != 7 {
				t.Errorf("%s: %s has %d records, want 7", file, d.name, d.n)
			}
		}
		w.Records = -1
		if err := w.checkSize(); err == nil {
			t.Error("a negative number of records is taken")
		}
	}
}
