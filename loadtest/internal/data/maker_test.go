package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// Instants are drawn from a span of any length.
func TestTimesOverCenturies(t *testing.T) {
	w := testload.Parsed(t, workload.Parse, strings.Replace(testload.Small, "from: 2024-01-01, to: 2025-01-01", "from: 1000-01-01, to: 3000-01-01", 1))
	least, most := 3000, 1000
	for r := range Rows(t.Context(), w, w.Collections[0], nil) {
		year := r.record["created"].(time.Time).Year()
		least, most = min(least, year), max(most, year)
	}
	if least < 1000 || least > 1200 || most < 2800 || most >= 3000 {
		t.Errorf("200 instants lie in %d to %d, want 1000 to 3000", least, most)
	}
}

// Records are a function of seed and number: read again, they are the same.
func TestGeneratedRecordsAreTheSame(t *testing.T) {
	w := testload.Parsed(t, workload.Parse, testload.Small)
	var first []string
	for r, err := range Rows(t.Context(), w, w.Collections[0], nil) {
		if err != nil {
			t.Fatal(err)
		}
		first = append(first, value.Canonical(r.record))
	}
	i := 0
	for r := range Rows(t.Context(), w, w.Collections[0], nil) {
		if value.Canonical(r.record) != first[i] {
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
	w := testload.Parsed(t, workload.Parse, twoCollections)
	data, err := Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	age := map[any]any{}
	for i, u := range data[0].Column("user") {
		age[u] = data[0].Column("age")[i]
	}
	n := 0
	for r, err := range Rows(t.Context(), w, w.Collections[1], data) {
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
	for r := range Rows(t.Context(), w, w.Collections[0], nil) {
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
	for _, file := range []string{"../../../examples/blog/blog.yaml", "../../../examples/debian/debian.yaml"} {
		w, err := workload.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		w.Records = 7
		data, err := Survey(t.Context(), w, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range data {
			if d.Len != 7 {
				t.Errorf("%s: %s has %d records, want 7", file, d.Name, d.Len)
			}
		}
		w.Records = -1
		if err := w.CheckSize(); err == nil {
			t.Error("a negative number of records is taken")
		}
	}
}

// A short run of a file takes a sample of all its rows, the same one for the same seed.
func TestSample(t *testing.T) {
	rows := make([]string, 1000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":"%03d"}`, i)
	}
	file := writeFile(t, "a.jsonl", []byte(strings.Join(rows, "\n")))
	w := rowsWorkload(t, file, "")
	ids := func(seed uint64, records int) (list []string) {
		w.Seed, w.Records = seed, records
		for r, err := range Rows(t.Context(), w, w.Collections[0], nil) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, r.text("id"))
		}
		return list
	}
	seen, halves := map[string]int{}, 0
	for seed := range uint64(200) {
		list := ids(seed, 50)
		if len(list) != 50 || !slices.IsSorted(list) || len(slices.Compact(list)) != 50 {
			t.Fatalf("sample %v", list)
		}
		for _, id := range list {
			if seen[id]++; id >= "500" {
				halves++
			}
		}
	}
	if halves < 4500 || halves > 5500 || len(seen) < 990 { // of 10,000 of 1,000 rows each comes 10 times
		t.Errorf("%d of 10,000 are of the second half, and %d rows of 1,000 are in some sample", halves, len(seen))
	}
	if a, b, c := ids(7, 50), ids(7, 50), ids(8, 50); !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Error("a seed has two samples, or two seeds have one")
	}
	if len(ids(1, 2000)) != 1000 || len(ids(1, 0)) != 1000 || len(ids(1, 1000)) != 1000 || len(ids(1, 1)) != 1 {
		t.Error("as many as there are, or more, are all")
	}
}
