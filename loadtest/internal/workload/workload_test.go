package workload

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
)

func TestWorkloadIsRead(t *testing.T) {
	w := testload.Parsed(t, Parse, testload.Small)
	if w.Name != "small" || w.Seed != 3 || w.Rate != 200 || w.Round != 200*time.Millisecond || w.Slots != 64 {
		t.Errorf("settings: %+v", w)
	}
	if len(w.Collections) != 1 || len(w.Queries) != 7 || len(w.Models) != 3 {
		t.Fatalf("%d collections, %d queries, %d models", len(w.Collections), len(w.Queries), len(w.Models))
	}
	x := func(model int) string { return strings.Join(w.Models[model].Schemas[0].Indexes[0].Covers, " ") }
	if x(0) != "*" || x(1) != "" || len(w.Models[2].Schemas[0].Indexes) != 0 || len(w.Collections[0].Schema.Indexes) != 2 {
		t.Errorf("models: covers %q and %q, indexes of the scan %v", x(0), x(1), w.Models[2].Schemas[0].Indexes)
	}
}

// Each case changes the small workload and names the place and the words that the
// fault must have.
var workloadFaults = []struct{ name, old, new, place, want string }{
	{"unknown key", "seed: 3", "sead: 3", ":2:1:", `no key "sead"; did you mean seed?`},
	{"unknown key without a near one", "seed: 3", "zzz: 3", ":2:1:", "the keys are workload, seed, rate"},
	{"wrong type", "rate: 200", "rate: fast", ":3:7:", "rate is text; want a whole number"},
	{"list for text", "workload: small", "workload: [small]", ":1:", "is a list; want text"},
	{"escape code in a name", "name: one post", `name: "one \x1b[31mpost"`, ":", "has a line end or another control character"},
	{"line end in the name of a model", "- name: covering", `- name: "two\nlines"`, ":", "has a line end or another control character"},
	{"number for text", "partition: [author]", "partition: 7", ":8:", "is a number; want a list"},
	{"out of bounds", "rate: 200", "rate: 0", ":3:7:", "rate is 0; want 1 to 100000"},
	{"huge number", "rate: 200", "rate: 99999999999999999999999999", ":3:7:", "want a whole number"},
	{"duration without unit", "round: 200ms", "round: 5", ":5:8:", "want a time with its unit"},
	{"too large a round", "rate: 200\nrounds: 1\nround: 200ms", "rate: 2000\nround: 10m", ":3:1:", "change rate or round"},
	{"duplicate key", "rate: 200", "rate: 200\nrate: 300", ":4:1:", `has "rate" twice, first in line 3`},
	{"missing collections", "collections:", "collection:", ":6:1:", `has no key "collection"; did you mean collections?`},
	{"no collections", "collections:", "name:", ":1:1:", "has no collections; add one"},
	{"missing field kind", "views: int, ", "", "", `there is no field "views" in collection posts`},
	{"bad kind", "views: int", "views: integer", ":10:", `kind "integer"; want one of bool, int`},
	{"partition of no field", "partition: [author]", "partition: [auther]", ":8:", `no field "auther"; did you mean author?`},
	{"no partition", "    partition: [author]\n", "", "", "has no partition; add one"},
	{"with no collection above", "    partition: [author]\n", "    partition: [author]\n    with: users\n", ":9:", "no collection users above this one"},
	{"index of no field", "sort: [-created], covers", "sort: [-creatd], covers", ":12:", "did you mean created?"},
	{"index without place", `{partition: ["tags[]"], sort: [-created]}`, `{sort: [-created]}`, "", "give it Buckets"},
	{"partial cover", `covers: ["*"]`, `covers: [views]`, ":12:", `write covers: ["*"]`},
	{"bad name", "collection: posts", "collection: Posts-1", ":7:", "use a–z"},
	{"no generator for the key", `        id: {sequence: 1, pattern: "P%04d"}` + "\n", "", "", "nothing makes field id"},
	{"two generators", "{sequence: 1, pattern:", "{sequence: 1, int: {}, pattern:", ":18:", "has 2 generators"},
	{"unknown generator", "id: {sequence: 1, pattern", "id: {seqence: 1, pattern", "", "has 0 generators"},
	{"wrong kind made", `views: {int: {max: 50}}`, `views: {words: {}}`, ":20:", "of kind int, and words makes string"},
	{"bad pattern", `"P%04d"`, `"P%s%d"`, ":18:", "needs one %d"},
	{"min over max", "min: 1, max: 9, zipf: 1", "min: 10, max: 9", ":17:", "max is less than min: 9 and 10"},
	{"unknown draw", "draw: zipf", "draw: newest", ":24:", "want uniform, zipf, latest, scrambled"},
	{"draw of two ways", "draw: zipf", "draw: {zipf: 1, latest: 1}", ":24:", "wants zipf or latest"},
	{"another write in a group", "kind: update, add: {views: 1}", "kind: group, writes: [update, move], add: {views: 1}", "", `"move" in writes; a group has update, put and delete`},
	{"one write in a group", "kind: update, add: {views: 1}", "kind: group, writes: [delete]", "", "has 1 writes; want 2 to"},
	{"records and writes", "kind: update, add: {views: 1}", "kind: group, records: 2, writes: [put, delete]", "", "leave out records"},
	{"group that updates nothing", "kind: update, add: {views: 1}", "kind: group, writes: [update, delete]", "", "changes nothing; add e.g. set"},
	{"latest of inserts", "kind: insert", "kind: insert, draw: latest", ":28:", "which queries of trees, insert, put and group do not"},
	{"limit of no range", "limit: 10", "limit: {min: 5, max: 2}", ":25:", "max is less than min: 2 and 5"},
	{"range of pages", "kind: find, where: {category: $}, order: [-created], limit: 10", "kind: page, where: {category: $}, order: [-created], limit: {min: 1, max: 9}", ":25:", "want a whole number"},
	{"set and set_one", "add: {views: 1}", "set: {views: 1}, set_one: {views: 2}", ":29:", "has set and set_one"},
	{"set_one of an insert", "kind: insert", "kind: insert, set_one: {views: 2}", ":28:", "no key \"set_one\""},
	{"hash of text", "{choice: {IT: 60, Daily: 40}}", "{words: {}, hash: true}", ":19:", "hash scatters whole numbers"},
	{"payload without size", "{choice: {IT: 60, Daily: 40}}", "{text: {}}", ":19:", "has no size; add one, e.g. size: 100"},
	{"payload without end", "{choice: {IT: 60, Daily: 40}}", "{text: {size: {min: 5}}}", ":19:", "has no max"},
	{"payload too large", "{choice: {IT: 60, Daily: 40}}", "{text: {size: 1000000}}", ":19:", "want 0 to 524288"},
	{"bytes in a text", "{choice: {IT: 60, Daily: 40}}", "{bytes: {size: 10}}", ":19:", "is of kind string, and bytes makes bytes"},
	{"min over the max that is not given", "{max: 50}", "{min: 500}", ":20:", "max is less than min: 100 and 500"},
	{"count of nothing", "count: 200", "count:", ":15:", "neither; give a file, or a count"},
	{"bad time", "from: 2024-01-01", "from: yesterday", ":22:", `"yesterday" is not a time`},
	{"empty choice", "{IT: 60, Daily: 40}", "[]", ":19:", "nothing to choose"},
	{"bad weight of choice", "Daily: 40", "Daily: many", ":19:", "is text; want a number"},
	{"weights", "weight: 40", "weight: 45", ":23:1:", "add up to 105"},
	{"no weight", "weight: 40, ", "", ":24:", "has no weight; add one"},
	{"bad query kind", "kind: count", "kind: cuont", ":26:", `kind "cuont"`},
	{"key of another kind", "kind: get, draw", "kind: get, limit: 5, draw", ":24:", `no key "limit"; the keys are name, weight, kind, collection`},
	{"where of no field", "where: {category: $}", "where: {categry: $}", ":25:", "did you mean category?"},
	{"elements of no list", `"tags[]": $`, `"id[]": $`, ":26:", "leave out the []"},
	{"list compared", `"tags[]": $`, `tags: $`, ":26:", "a list has elements: tags[]"},
	{"literal of wrong kind", "where: {category: $}", "where: {views: many}", ":25:", `"many" is not a whole number`},
	{"prefix of a number", "prefix: {field: id, chars: 3}", "prefix: {field: views, chars: 3}", ":27:", "a prefix is for text"},
	{"prefix of nothing", "prefix: {field: id, chars: 3}", "prefix: {field: id}", ":27:", "wants text, or chars"},
	{"update of the key", "add: {views: 1}", "set: {id: x}", ":29:", "part of the key"},
	{"update of nothing", ", add: {views: 1}", "", ":29:", "changes nothing"},
	{"add to text", "add: {views: 1}", "add: {category: 1}", ":29:", "add is for fields of kind int"},
	{"push to text", "add: {views: 1}", "push: {category: {of: a}}", ":29:", "push is for lists, and category is of kind string"},
	{"push of nothing", "add: {views: 1}", "push: {tags: {cap: 3}}", ":29:", "of: $name"},
	{"push of a list", "add: {views: 1}", "push: {tags: {of: $tags}}", ":29:", "that can be an element of tags, and it is of kind list"},
	{"push of a number to an index", "add: {views: 1}", "push: {tags: {of: $views}}", ":29:", "that can be an element of tags, and it is of kind int"},
	{"push and set", "add: {views: 1}", "set: {tags: [a]}, push: {tags: {of: a}}", ":29:", "changes tags twice"},
	{"push without room", "add: {views: 1}", "push: {tags: {of: a, cap: 0}}", ":29:", "want 1 to"},
	{"trace and rate", "seed: 3", "seed: 3\ntrace: a.jsonl", ":4:", "leave the rate out, and take --speed"},
	{"trace of no format", "rate: 200", "trace: a.log", ":3:", "what is in a.log?"},
	{"trace without a file", "rate: 200", "trace: {format: csv}", ":3:", "trace has no file"},
	{"move of no index", "kind: move, set: {category: $}", "kind: move, set: {views: 3}", ":30:", "no index has views in its key"},
	{"bad objective", "p99: 500ms", "p999x: 500ms", ":24:", "is none of p50, p99"},
	{"negative objective", "p99: 500ms", "p99: -5ms", ":24:", "want 1µs to"},
	{"two models alike", "name: keys only", "name: covering", ":33:", `a model "covering" already`},
	{"bad kind of a model's indexes", "- name: covering", "- {name: covering, kind: nativ}", ":32:", `kind "nativ" of the indexes; want auto, table or native`},
	{"bad kind of a collection's indexes", "- name: covering", "- {name: covering, collections: {posts: {kind: []}}}", ":32:", "is a list; want text"},
	{"key of a model that a query changes", "- name: covering", "- {name: covering, partition: [category], sort: [id]}", ":32:", "query other category changes it"},
	{"key of a model that nothing has", "- name: covering", "- {name: covering, partition: [categoy]}", ":32:", "did you mean category?"},
	{"key of a model twice", "- name: covering", "- {name: covering, sort: [id, -id]}", ":32:", "id"},
	{"no partition of a model", "- name: covering", "- {name: covering, partition: []}", ":32:", "partition"},
	{"two queries alike", "name: with a tag", "name: one post", ":26:", `a query "one post" already`},
	{"anchor", "rate: 200", "rate: &r 200", ":3:", "anchor"},
	{"tag", "rate: 200", "rate: !!int 200", ":3:", "tagged"},
	{"merge key", "rate: 200", "rate: 200\n<<: {a: 1}", "", ""},
	{"tab", "rate: 200", "\trate: 200", ":3:", ""},
	{"NUL", "rate: 200", "rate: 200\x00", ":3:", "NUL"},
	{"not UTF-8", "name: one post", "name: one \xff post", ":24:", "not valid UTF-8"},
	{"two documents", "collections:", "---\ncollections:", "", "several documents"},
	{"deep brackets", "seed: 3", "seed: " + strings.Repeat("[", 100_000), ":2:", "nested more than"},
	{"deep lists", "seed: 3", "seed:\n" + strings.Repeat("- ", 50_000), ":3:", "nested too deeply"},
	{"deep lists with an end", "seed: 3", "seed:\n" + strings.Repeat("- ", 50_000) + "x", ":3:", "nested too deeply"},
	{"deep brackets behind closing ones", "seed: 3", "# " + strings.Repeat("]", 100_000) + "\nseed: " + strings.Repeat("[", 100_000), ":3:", "nested more than"},
	{"too long", "seed: 3", "seed: " + strings.Repeat("x", 10<<20), "", "more than 262144 bytes"},
}

func TestWorkloadFaults(t *testing.T) {
	for _, tt := range workloadFaults {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(testload.Small, tt.old, tt.new, 1)
			if text == testload.Small {
				t.Fatal("the case changes nothing")
			}
			_, err := Parse("small.yaml", []byte(text))
			var faults failure.Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("got %v, want Faults", err)
			}
			if got := err.Error(); !strings.Contains(got, "small.yaml"+tt.place) || !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant it to contain %q and %q", testload.Short(got), "small.yaml"+tt.place, tt.want)
			}
		})
	}
}

// All faults are told at once, with the line and a mark under the place.
func TestAllFaultsAtOnce(t *testing.T) {
	text := strings.NewReplacer("seed: 3", "sead: 3", "rate: 200", "rate: fast", "chars: 3", "chars: 0").Replace(testload.Small)
	_, err := Parse("small.yaml", []byte(text))
	var faults failure.Faults
	if !errors.As(err, &faults) || len(faults) < 3 {
		t.Fatalf("got %v, want three faults", err)
	}
	if strings.Contains(err.Error(), "operations") {
		t.Errorf("got\n%s\nwant nothing of a round at a rate that nobody wrote", err)
	}
	want := "small.yaml:3:7: the workload: rate is text; want a whole number\n    3 | rate: fast\n      |       ^\n"
	if !strings.Contains(err.Error(), want) {
		t.Errorf("got\n%s\nwant it to contain\n%s", err, want)
	}
}

func TestWorkloadFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.yaml")
	comment := filepath.Join(dir, "comment.yaml")
	scalar := filepath.Join(dir, "scalar.yaml")
	large := filepath.Join(dir, "large.yaml")
	for file, text := range map[string]string{empty: "", comment: "# nothing\n", scalar: "hello\n", large: strings.Repeat("a", 10<<20)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ file, want string }{
		{dir, "is a directory"},
		{filepath.Join(dir, "none.yaml"), "no such file"},
		{empty, "the file is empty"},
		{comment, "the file is empty"},
		{scalar, "want keys and values"},
		{large, "more than 262144 bytes"},
	}
	for _, tt := range tests {
		if _, err := Load(tt.file); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Load(%s): %v, want %q", filepath.Base(tt.file), err, tt.want)
		}
	}
}

// A byte order mark is no part of the first key.
func TestByteOrderMark(t *testing.T) {
	if w := testload.Parsed(t, Parse, "\xef\xbb\xbf"+testload.Small); w.Name != "small" {
		t.Errorf("the name is %q", w.Name)
	}
}

// A name in a data file is one field, and a place has two names.
func TestNamesInADataFile(t *testing.T) {
	from, to := strings.Index(testload.Small, "    data:\n"), strings.Index(testload.Small, "queries:")
	for names, want := range map[string]string{
		"map: {id: x, author: x}":        `map takes "x" of the file for id and for author`,
		"points: {at: [lat, lon]}":       `points gives field "at", which is no declared string`,
		"points: {views: [lat, lon]}":    `points gives field "views", which is no declared string`,
		"points: {category: [lat]}":      "category wants the two names",
		"points: {category: [lat, lat]}": "category wants the two names",
		"points: [lat, lon]":             "points",
	} {
		text := testload.Small[:from] + "    data: {file: a.csv, " + names + "}\n" + testload.Small[to:]
		if _, err := Parse("small.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", names, err, want)
		}
	}
}

func TestModelsOfAFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	models := func(file string) ([]*Model, error) {
		w, err := Layouts(file)
		if err != nil {
			return nil, err
		}
		return w.Models, nil
	}
	one := write("one.yaml", "collection: posts\npartition: [author]\nfields: {author: string}\n")
	if list, err := models(one); err != nil || len(list) != 1 || list[0].Name != "" || len(list[0].Schemas) != 1 || list[0].Schemas[0].Collection != "posts" {
		t.Errorf("models of a schema: %v, %v", list, err)
	}
	if list, err := models(write("small.yaml", testload.Small)); err != nil || len(list) < 2 || len(list[0].Schemas) != 1 || len(list[0].Schemas[0].Indexes) != 2 {
		t.Errorf("models of a workload: %v, %v", list, err)
	}
	if list, err := models(write("trees.yaml", testload.Trees)); err != nil || len(list) != 6 || list[0].Forests[0].Collection != "files" || list[0].Forests[0].Strategy != "path" {
		t.Errorf("models of trees: %v, %v", list, err)
	}
	for _, bad := range []struct{ text, want string }{
		{"collection: posts\npartitions: [author]\nfields: {author: text}\n", `did you mean partition?|kind "text"`},
		{strings.Replace(testload.Trees, "    fields:", "    partition: [suite]\n    fields:", 1), `has no key "partition"`},
		{strings.Replace(testload.Trees, "collection: files", "collection: files_of_a_collection_with_a_long_name", 1), "at most 24"},
		{strings.Replace(testload.Trees, "kind: exists", "kind: exist", 1), "exist"},
		{strings.Replace(testload.Trees, "below: {max: 50}", "below: {max: -1}", 1), "want 0 to"},
		{strings.Replace(testload.Trees, "strategy: path}", "strategy: path, spread: true}", 1), "cannot be Spread"},
	} {
		_, err := models(write("bad.yaml", bad.text))
		for want := range strings.SplitSeq(bad.want, "|") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want a fault that says %s", err, want)
			}
		}
	}
}

// FuzzWorkload looks for input on which reading a workload does anything but
// return a workload or faults.
func FuzzWorkload(f *testing.F) {
	f.Add([]byte(testload.Small))
	f.Add([]byte(testload.Trees))
	f.Add([]byte(testload.Series))
	for _, text := range []string{"", "a", "- a", "a: &a [*a]", "? [a]\n: b", "{", "collections: [{}]", "queries: [{name: 1}]", "\xef\xbb\xbfa: b", "a: |\n  b\n", "<<: {a: 1}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		w, err := Parse("fuzz.yaml", src)
		var faults failure.Faults
		if (w == nil) == (err == nil) || err != nil && (!errors.As(err, &faults) || err.Error() == "") {
			t.Fatalf("got %v, %v", w, err)
		}
	})
}
