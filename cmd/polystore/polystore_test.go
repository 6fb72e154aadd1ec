package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest"
)

const small = `workload: small
rate: 20
rounds: 1
round: 500ms
collections:
  - collection: posts
    partition: [author]
    sort: [id]
    fields: {author: string, id: string, category: string}
    indexes:
      - {partition: [category], sort: [id]}
    data:
      count: 20
      fields:
        author: {int: {min: 1, max: 3}, pattern: "user:%d"}
        id: {sequence: 1, pattern: "P%04d"}
        category: {choice: [IT, Daily]}
queries:
  - {name: one post, weight: 50, kind: get, objectives: {max: 1h}}
  - {name: of a category, weight: 50, kind: find, where: {category: $}, order: [id]}
`

// do runs the program and returns its exit code and what it printed.
func do(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, diag bytes.Buffer
	err := run(t.Context(), args, &out, &diag)
	return report(err, &diag), out.String(), diag.String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestHelp(t *testing.T) {
	if code, out, _ := do(t, "help"); code != 0 || !strings.Contains(out, "polystore load FILE") {
		t.Errorf("help: exit %d, %q", code, out)
	}
	for _, scheme := range []string{"memory:", "pebble:", "redis:", "mongodb:", "cassandra:"} {
		if _, out, _ := do(t, "help"); !strings.Contains(out, scheme) {
			t.Errorf("help says nothing of %s", scheme)
		}
	}
	for _, args := range [][]string{{"help", "help"}, {"help", "--help"}, {"--help", "-h"}} {
		if code, out, _ := do(t, args...); code != 0 || !strings.Contains(out, "polystore load FILE") {
			t.Errorf("%s: exit %d, %q", args, code, out)
		}
	}
	for _, c := range commands() {
		for _, args := range [][]string{{c.name, "--help"}, {"help", c.name}} {
			code, out, diag := do(t, args...)
			if code != 0 || !strings.Contains(out, "Example:") || !strings.Contains(out, "polystore "+c.name) || diag != "" {
				t.Errorf("%s: exit %d, stdout %q, stderr %q; want help with an example", args, code, out, diag)
			}
		}
	}
	if code, out, diag := do(t); code != loadtest.Usage || out != "" || !strings.Contains(diag, "polystore load") {
		t.Errorf("no arguments: exit %d, %q, %q", code, out, diag)
	}
	if code, out, _ := do(t, "version"); code != 0 || !strings.HasPrefix(out, "polystore ") {
		t.Errorf("version: exit %d, %q", code, out)
	}
}

func TestUsage(t *testing.T) {
	file := write(t, "small.yaml", small)
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"lod"}, `no command "lod"`},
		{[]string{"load"}, "load takes FILE; it got []"},
		{[]string{"load", file, file}, "load takes FILE; it got ["},
		{[]string{"load", "--fast", file}, "-fast"},
		{[]string{"load", "--rate", "many", file}, "-rate"},
		{[]string{"load", file, "--rate", "0", "--on", "memory:"}, "rate is 0; want 1 to 100000"},
		{[]string{"load", file, "--rate", "-500", "--round", "-1s", "--on", "memory:"}, "rate is -500; want"},
		{[]string{"load", file, "--rounds", "0", "--on", "memory:"}, "rounds is 0; want 1 to 100"},
		{[]string{"load", file, "--rounds", "1000000", "--on", "memory:"}, "rounds is 1000000; want"},
		{[]string{"load", file, "--round", "1ns", "--on", "memory:"}, "round is 1ns; want 100ms to 10m0s"},
		{[]string{"load", file, "--round", "10m", "--rate", "1000", "--on", "memory:"}, "has 600000 operations"},
		{[]string{"load", "none.yaml"}, "no such file"},
		{[]string{"load", file, "--on", "redis://me:s3cret@db.example.org:6379"}, "redis://me:***@db.example.org:6379 is not on this machine; say --remote"},
		{[]string{"load", file, "--on", "redis://db.example.org?local=false"}, "redis://db.example.org?local=false is not on this machine; say --remote"},
		{[]string{"load", file, "--on", "redis://127.0.0.1:1/?local=true"}, "connection refused"},
		{[]string{"load", file, "--on", "nosuch:"}, "scheme"},
		{[]string{"check", "memory:"}, "check takes [URL] FILE; it got \"memory:\" alone"},
		{[]string{"check", "memory:", "none.yaml"}, "no such file"},
		{[]string{"verify", "memory:", "posts"}, "schema of posts: the store has no such collection"},
		{[]string{"check", "redis://me:s3cret@localhost"}, "redis://me:***@localhost"},
		{[]string{"verify", "memory:"}, "verify takes URL COLLECTION"},
		{[]string{"rebuild", "memory:", "posts"}, "rebuild takes URL COLLECTION INDEX"},
	}
	for _, tt := range tests {
		code, out, diag := do(t, append(tt.args, outIfLoad(t, tt.args)...)...)
		if code != loadtest.Usage || out != "" || !strings.Contains(diag, tt.want) || strings.Contains(diag, "s3cret") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %d and %q", tt.args, code, out, diag, loadtest.Usage, tt.want)
		}
	}
}

func outIfLoad(t *testing.T, args []string) []string {
	if args[0] == "load" {
		return []string{"--out", t.TempDir()}
	}
	return nil
}

func TestLoad(t *testing.T) {
	file, dir := write(t, "small.yaml", small), t.TempDir()
	code, out, diag := do(t, "load", file, "--out", dir, "--seed", "5")
	if code != 0 || !strings.Contains(out, "as declared: The objective is met.") || !strings.Contains(out, "again   polystore load --seed 5 ") {
		t.Fatalf("exit %d\n%s\n%s", code, out, diag)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "small-5" {
		t.Errorf("%v, %v; want the result and nothing else, so that the store is gone", entries, err)
	}
	if !strings.Contains(diag, "load posts into as declared: 20 records") {
		t.Errorf("stderr %q", diag)
	}
}

// A folder that cannot take the result is found before the run, and what cannot be
// printed is no success.
func TestOutputThatCannotBeWritten(t *testing.T) {
	file := write(t, "small.yaml", small)
	code, out, diag := do(t, "load", "--on", "memory:", "--out", file, file)
	if code != loadtest.Usage || out != "" || strings.Contains(diag, "load posts") || !strings.Contains(diag, "load: make the folder") {
		t.Errorf("exit %d, %q, %q; want the folder refused before anything is done", code, out, diag)
	}
	url := "pebble:" + filepath.Join(t.TempDir(), "db")
	_, _, diag = do(t, "load", "--keep", "--on", url, "--out", t.TempDir(), file)
	_, kept, _ := strings.Cut(diag, "kept as declared: ")
	kept, _, _ = strings.Cut(kept, "\n")
	for _, args := range [][]string{{"check", "memory:", file}, {"verify", url, kept}, {"version"}} {
		var diag bytes.Buffer
		if code := report(run(t.Context(), args, fullDisk{}, &diag), &diag); code != loadtest.Usage || !strings.Contains(diag.String(), "disk full") {
			t.Errorf("%q: exit %d, %q; want that the disk is full", args, code, &diag)
		}
	}
}

// A fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAgainIsReadByAShell(t *testing.T) {
	for word, want := range map[string]string{"a.yaml": "a.yaml", "pebble:/a b?sync=false": "'pebble:/a b?sync=false'", "it's": `'it'\''s'`, "": "''"} {
		if got := quoted(word); got != want {
			t.Errorf("%s is quoted as %s, want %s", word, got, want)
		}
	}
}

func TestLoadJSON(t *testing.T) {
	code, out, diag := do(t, "load", "--json", "--on", "memory:", "--on", "memory:", "--out", t.TempDir(), write(t, "small.yaml", small))
	var r loadtest.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || len(r.Candidates) != 2 || len(r.Stores) != 2 {
		t.Errorf("exit %d, %d candidates: %v\n%s", code, len(r.Candidates), err, diag)
	}
}

func TestMissedObjectiveIsExit1(t *testing.T) {
	text := strings.Replace(small, "max: 1h", "max: 1µs", 1)
	code, out, _ := do(t, "load", "--on", "memory:", "--out", t.TempDir(), write(t, "small.yaml", text))
	if code != loadtest.Missed && code != loadtest.Invalid {
		t.Errorf("exit %d, want %d, or %d on a machine with much to do\n%s", code, loadtest.Missed, loadtest.Invalid, out)
	}
}

func TestInterruptedLoadLeavesNothing(t *testing.T) {
	for _, keep := range []bool{false, true} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		var diag stopper
		diag.stop = cancel
		err := run(ctx, []string{"load", write(t, "small.yaml", small), "--out", dir, fmt.Sprintf("--keep=%t", keep)}, &bytes.Buffer{}, &diag)
		code := report(err, &diag)
		if code != interrupted || !strings.Contains(diag.String(), "interrupted") || strings.Contains(diag.String(), "is removed") == keep {
			t.Errorf("keep %t: exit %d, %v\n%s", keep, code, err, &diag)
		}
		if entries, err := os.ReadDir(dir); err != nil || (len(entries) > 0) != keep {
			t.Errorf("keep %t: %v, %v; want an empty folder unless it is kept", keep, entries, err)
		}
		cancel()
	}
}

// A stopper calls stop when the load begins.
type stopper struct {
	bytes.Buffer
	stop func()
}

func (s *stopper) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("load posts")) {
		s.stop()
	}
	return s.Buffer.Write(p)
}

func TestCheck(t *testing.T) {
	good := write(t, "good.yaml", "collection: posts\npartition: [author]\nfields: {author: string}\n")
	if code, out, diag := do(t, "check", "memory:", good); code != 0 || !strings.HasPrefix(out, "posts: memory can do all of it\nposts: insert by one commit of the record; 1 deep, 1 requests; ") || strings.Count(out, "\n") != 7 {
		t.Errorf("good: exit %d, %q, %q", code, out, diag)
	}
	native := write(t, "native.yaml", "collection: posts\npartition: [author]\nfields: {author: string, age: int}\nindexes:\n  - {partition: [age], kind: native}\n  - {sort: [age]}\n")
	code, _, diag := do(t, "check", "pebble::memory:", native)
	if code != loadtest.Missed || !strings.Contains(diag, "kind native") || !strings.Contains(diag, "give it Buckets") {
		t.Errorf("bad: exit %d, %q; want both faults", code, diag)
	}
}

// Of trees check says what calls cost, by the strategy of each model, or what the store cannot do.
func TestCheckTrees(t *testing.T) {
	for strategy, want := range map[string]string{
		"": "of adjacency", "strategy: path": "of path", "strategy: ancestors, spread: true": "of ancestors", "strategy: path, spread: true": "cannot be Spread",
	} {
		text := "collections:\n  - collection: files\n    tree: {id: id, parent: folder, " + strategy + "}\n    fields: {id: string, folder: string}\n    data: {file: none.csv}\nqueries: [{name: one, weight: 100, kind: get, draw: uniform}]\n"
		code, out, diag := do(t, "check", "pebble::memory:", write(t, "trees.yaml", text))
		if refused := strings.Contains(want, "cannot"); refused {
			if code != loadtest.Missed || out != "" || !strings.Contains(diag, want) {
				t.Errorf("%s: exit %d, %q, %q", strategy, code, out, diag)
			}
			continue
		}
		if code != 0 || !strings.HasPrefix(out, "files: pebble can do all of it, as trees "+want+";") {
			t.Errorf("%s: exit %d, %q, %q", strategy, code, out, diag)
		}
		for _, line := range []string{"\nfiles: Insert: ", "\nfiles: Ancestors: ", "\nfiles: DeleteSubtree: ", "\nfiles: Load: ", "rows written; who stops in the middle leaves a change half done, which the next writer ends\n"} {
			if !strings.Contains(out, line) {
				t.Errorf("%s: %q lacks %q", strategy, out, line)
			}
		}
		if moves := "leaves a change half done, which the next writer ends"; strings.Contains(lineOf(out, "files: Move: "), moves) == (strategy == "") {
			t.Errorf("%s: a move: %s", strategy, lineOf(out, "files: Move: "))
		}
	}
}

// Each model of a workload file is checked, and the file as load does.
func TestCheckModels(t *testing.T) {
	text := "collections:\n  - collection: files\n    tree: {id: id, parent: folder}\n    fields: {id: string, folder: string}\n    data: {file: none.csv}\n" +
		"queries: [{name: one, weight: 100, kind: get, draw: uniform}]\nmodels: [{name: first}, {name: same}, {name: second, strategy: path}, {name: third, strategy: ancestors, spread: true}]\n"
	code, out, diag := do(t, "check", "pebble::memory:", write(t, "trees.yaml", text))
	if code != 0 || !strings.HasPrefix(out, "model first:\nfiles: pebble can do all of it, as trees of adjacency;") {
		t.Errorf("exit %d, %q, %q", code, out, diag)
	}
	for model, strategy := range map[string]string{"second": "path", "third": "ancestors"} {
		if !strings.Contains(out, fmt.Sprintf("\nmodel %s:\nfiles: pebble can do all of it, as trees of %s;", model, strategy)) {
			t.Errorf("model %s: %q", model, out)
		}
	}
	if strings.Count(out, "can do all of it") != 3 {
		t.Errorf("a schema is told of twice: %q", out)
	}
	code, out, diag = do(t, "check", "pebble::memory:", write(t, "trees.yaml", strings.Replace(text, "kind: get", "kind: gt", 1)))
	if code != loadtest.Usage || out != "" || !strings.Contains(diag, "gt") {
		t.Errorf("a query of no kind: exit %d, %q, %q", code, out, diag)
	}
}

// lineOf returns the line of a text that begins with another.
func lineOf(text, begin string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n"+begin)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

func TestVerifyAndRebuild(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	_, out, _ := do(t, "load", "--keep", "--on", "pebble:"+dir, "--out", t.TempDir(), "--json", write(t, "small.yaml", small))
	if out == "" {
		t.Fatal("no result")
	}
	_, _, diag := do(t, "load", "--keep", "--on", "pebble:"+dir, "--out", t.TempDir(), write(t, "small.yaml", small))
	_, kept, ok := strings.Cut(diag, "kept as declared: ")
	if !ok {
		t.Fatalf("nothing says what was kept: %q", diag)
	}
	name, _, _ := strings.Cut(kept, "\n")
	code, out, diag := do(t, "verify", "pebble:"+dir, name)
	if code != 0 || !strings.Contains(out, name+" by_category_id: 20 records, 20 rows, 0 missing, 0 stale") {
		t.Errorf("verify: exit %d, %q, %q", code, out, diag)
	}
	code, out, diag = do(t, "rebuild", "pebble:"+dir, name, "by_category_id")
	if code != 0 || !strings.Contains(out, "by_category_id: made anew") {
		t.Errorf("rebuild: exit %d, %q, %q", code, out, diag)
	}
	if code, _, diag = do(t, "rebuild", "pebble:"+dir, name, "by_nothing"); code != loadtest.Usage || !strings.Contains(diag, "no index by_nothing") {
		t.Errorf("rebuild of no index: exit %d, %q", code, diag)
	}
}

var shortLoad = flag.Bool("short-load", false, "run the shipped workloads for some seconds each")

// structural says of each shipped workload how it is run short, and looks for what follows from its models.
var structural = map[string]struct {
	flags []string
	check func(*testing.T, *loadtest.Result)
}{
	"blog":      {nil, scanLoses},
	"debian":    {nil, scanLoses},
	"sessions":  {[]string{"--records", "5000"}, usersLieTogether},
	"trees":     {[]string{"--records", "10000"}, strategiesDiffer},
	"crossover": {[]string{"--records", "5000"}, strategiesDiffer},

	"places":    {[]string{"--records", "3000"}, nearIsLess},
	"cities":    {[]string{"--records", "3000"}, nearIsLess},
	"shop":      {[]string{"--records", "2000"}, stepsAreTold},
	"bookmarks": {[]string{"--records", "3000"}, groupsLieTogether},
	"readings":  {[]string{"--records", "10000"}, bucketsAreFewRows},
	"authors":   {[]string{"--records", "3000"}, copiesAreRead},
	"threads":   {[]string{"--records", "4000"}, childrenLieApart},

	"ycsb-a": {}, "ycsb-b": {}, "ycsb-c": {}, "ycsb-f": {}, // one model and one store, of which nothing follows
	"ycsb-d": {[]string{"--records", "2000"}, newestAreThere},
	"ycsb-e": {[]string{"--records", "2000"}, bucketsCost},
}

// The shipped workloads are right, and each ends as the README promises, as far as that
// is structural. With -short-load they run for longer, on Pebble.
func TestShippedWorkloads(t *testing.T) {
	t.Parallel() // beside those on servers
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v; want two workloads at least", files, err)
	}
	for _, file := range files {
		w, err := loadtest.Load(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if !*shortLoad {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			is, known := structural[w.Name]
			if !known {
				t.Fatal("nothing is said of what this workload shows")
			}
			if is.check == nil {
				return
			}
			args := append([]string{"load", file, "--json", "--rounds", "4", "--round", "500ms", "--out", t.TempDir()}, is.flags...)
			code, out, diag := do(t, args...)
			var r loadtest.Result
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("exit %d, %v\n%s", code, err, diag)
			}
			is.check(t, &r)
		})
	}
}

// rowsOf returns how many rows each model reads for a query. No operation of any failed.
func rowsOf(t *testing.T, r *loadtest.Result, query string) map[string]float64 {
	t.Helper()
	rows := map[string]float64{}
	for _, c := range r.Candidates {
		for _, q := range c.Queries {
			if q.Name == query {
				rows[c.Model] = q.RowsEach
			}
		}
		if c.Failures > 0 {
			t.Errorf("%s: %d failures, the first: %s", c.Name, c.Failures, c.Failure)
		}
	}
	return rows
}

// childrenLieApart sees that a post with its comments is one request where they are embedded, and two where they are not.
func childrenLieApart(t *testing.T, r *loadtest.Result) {
	rows := rowsOf(t, r, "post with its newest comments")
	for _, c := range r.Candidates {
		want := 2.0
		if c.Model == "embedded" {
			want = 1
		}
		if got := c.Queries[0].RequestsEach; got != want {
			t.Errorf("%s: %v requests for a post with its comments, want %v", c.Model, got, want)
		}
	}
	if rows["embedded"] != 1 || rows["same partition"] > 21 {
		t.Errorf("rows read for a post with its comments: %v; want one, and 21 at most", rows)
	}
}

// groupsLieTogether sees that an index tells of groups by one range, and without one every record is read.
func groupsLieTogether(t *testing.T, r *loadtest.Result) {
	rows := rowsOf(t, r, "sites of a user")
	if rows["covering"] > 300 || rows["scan"] < 3000 {
		t.Errorf("rows read for groups: %v; want those of a user, and all", rows)
	}
}

// bucketsAreFewRows sees that a day of readings is a row each, or one for each hour, or one or two.
func bucketsAreFewRows(t *testing.T, r *loadtest.Result) {
	rows := rowsOf(t, r, "day of a device")
	if rows["a record a point"] < 50 || rows["buckets of an hour"] > 26 || rows["buckets of an hour"] < 10 || rows["buckets of a day"] > 3 {
		t.Errorf("rows read for a day: %v; want some hundred, one for each hour, and one or two", rows)
	}
}

// copiesAreRead sees that copies save the second request of a read, and that a rename costs more with them.
func copiesAreRead(t *testing.T, r *loadtest.Result) {
	trips, requests := map[string]float64{}, map[string]float64{}
	for _, c := range r.Candidates {
		trips[c.Model], requests[c.Model] = c.Queries[0].TripsEach, c.Queries[2].RequestsEach
		if c.Failures > 0 {
			t.Errorf("%s: %d failures, the first: %s", c.Name, c.Failures, c.Failure)
		}
	}
	if trips["copies"] >= trips["join"] || requests["copies"] <= requests["join"] {
		t.Errorf("trips of a read %v, requests of a rename %v; want less with copies, and more", trips, requests)
	}
}

// nearIsLess sees that an index finds what is near by reading a part of the records.
func nearIsLess(t *testing.T, r *loadtest.Result) {
	rows := rowsOf(t, r, r.Queries[0].Name)
	if rows["covering"] > 1000 || rows["scan"] < 3000 {
		t.Errorf("rows read for the nearest ten: %v; want some hundreds, and all", rows)
	}
}

// stepsAreTold sees that each step of journeys is measured.
func stepsAreTold(t *testing.T, r *loadtest.Result) {
	for _, c := range r.Candidates {
		calls := map[string]int64{}
		for _, q := range c.Queries {
			calls[q.Name] = q.Calls
		}
		if c.Failures > 0 || calls["page of a category"] != calls["visit"] || calls["product"] >= calls["visit"] || calls["into the cart"] == 0 {
			t.Errorf("%s: calls %v, %d failures, the first: %s", c.Name, calls, c.Failures, c.Failure)
		}
	}
}

// newestAreThere sees that reads of the latest records find them.
func newestAreThere(t *testing.T, r *loadtest.Result) {
	for _, q := range r.Candidates[0].Queries {
		if r.Candidates[0].Failures > 0 || q.SampledNoEffect > 0 {
			t.Errorf("%s: of the sampled calls %d did nothing, %d calls failed: %s", q.Name, q.SampledNoEffect, r.Candidates[0].Failures, r.Candidates[0].Failure)
		}
	}
}

// bucketsCost sees that a scan asks each bucket of an index, and for each record where the index has keys only.
func bucketsCost(t *testing.T, r *loadtest.Result) {
	each := map[string]float64{}
	for _, c := range r.Candidates {
		each[c.Model] = c.Queries[0].RequestsEach
	}
	if each["covering, 1 bucket"] > 2 || each["covering, 8 buckets"] < 8 || each["keys only, 8 buckets"] < 30 {
		t.Errorf("requests of a scan: %v; want 1, 8, and more than 8 and one for each record", each)
	}
}

// usersLieTogether sees that the sessions of a user share a partition in one model, and that finding them reads every
// session where there is no index.
func usersLieTogether(t *testing.T, r *loadtest.Result) {
	rows := rowsOf(t, r, "sessions of a user")
	partitions := map[string]int{}
	for _, s := range r.Spreads {
		partitions[s.Model] = s.Partitions
	}
	if partitions["by id"] != 5000 || partitions["by user"] > 500 || rows["scan"] < 5000 || rows["by user"] > 100 {
		t.Errorf("partitions %v, rows read %v", partitions, rows)
	}
}

// strategiesDiffer sees that strategies cost what follows from what they keep: a path reads a subtree by one range and
// moves all that is below a folder; adjacency lists each folder and moves one node. What is too large for one record
// is not there.
func strategiesDiffer(t *testing.T, r *loadtest.Result) {
	each := map[string]float64{} // requests by model and query
	for _, c := range r.Candidates {
		for _, q := range c.Queries {
			each[c.Model+": "+q.Name] = q.TripsEach
			if q.Name == "move a folder" {
				each[c.Model+": "+q.Name] = q.RequestsEach
			}
		}
		if c.Failures > 0 {
			t.Errorf("%s: %d failures, the first: %s", c.Name, c.Failures, c.Failure)
		}
	}
	const read, move = "all that is in a folder", "move a folder"
	for _, model := range []string{"path", "ancestors", "nested sets"} {
		if each[model+": "+read] == 0 || 2*each[model+": "+read] > each["adjacency: "+read] || each[model+": "+move] < 2*each["adjacency: "+move] {
			t.Errorf("trips of a read and requests of a move %v; want those of %s half of adjacency's, and twice of them\n%s", each, model, r.Text)
		}
	}
	if large := r.Workload == "trees"; large != (len(r.NotThere) == 1 && r.NotThere[0].Model == "document") {
		t.Errorf("not there is %v, want the document of a tree that is too large", r.NotThere)
	}
}

func scanLoses(t *testing.T, r *loadtest.Result) {
	ranked := r.Verdicts[0].Ranked
	if last := ranked[len(ranked)-1]; last != "no index, scan" || len(ranked) != 3 {
		t.Errorf("ranked %q, want the scan last\n%s", ranked, r.Text)
	}
	if len(r.NotThere) == 0 || !strings.Contains(r.NotThere[0].Reason, "pebble keeps no index of its own") {
		t.Errorf("not there is %v, want the native indexes\n%s", r.NotThere, r.Text)
	}
	for _, c := range r.Candidates {
		if missed := missedBy(&c); c.Model == "no index, scan" && c.State != "SATURATED" && 2*missed < len(r.Queries) {
			t.Errorf("%s is %s and misses %d objectives; it should not be able to carry the rate\n%s", c.Name, c.State, missed, r.Text)
		}
		if c.Failures > 0 {
			t.Errorf("%s: %d failures, the first: %s", c.Name, c.Failures, c.Failure)
		}
	}
}

// missedBy returns how many objectives a candidate misses. In rounds as short as these, on a busy machine, what
// waits may not grow from the middle of a round to its end: such a candidate misses its objectives and is not saturated.
func missedBy(c *loadtest.CandidateResult) int {
	missed := 0
	for _, q := range c.Queries {
		for _, o := range q.Objectives {
			if o.Finding == "missed" {
				missed++
			}
		}
	}
	return missed
}

func TestReport(t *testing.T) {
	tests := []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{exit{3, nil}, 3, ""},
		{&loadtest.WrongAnswers{Text: "they differ"}, loadtest.Wrong, "polystore: wrong answers: they differ\n"},
		{errors.Join(&loadtest.WrongAnswers{Text: "they differ"}, nil), loadtest.Wrong, "polystore: wrong answers: they differ\n"},
		{context.Canceled, interrupted, "polystore: interrupted\n"},
		{exit{loadtest.Usage, fmt.Errorf("verify: %w", context.Canceled)}, interrupted, "polystore: interrupted\n"},
		{errors.Join(errors.Join(context.Canceled, errors.New("remove x: disk full")), nil), interrupted, "polystore: interrupted\npolystore: remove x: disk full\n"},
		{errors.New("boom"), loadtest.Usage, "polystore: boom\n"},
	}
	for _, tt := range tests {
		var diag bytes.Buffer
		if code := report(tt.err, &diag); code != tt.code || diag.String() != tt.text {
			t.Errorf("%v: exit %d, %q; want %d, %q", tt.err, code, diag.String(), tt.code, tt.text)
		}
	}
}
