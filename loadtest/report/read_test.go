package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo/driver"
)

// written returns a judged result of two classes as a run writes it.
func written(t testing.TB, change func(*Result)) []byte {
	t.Helper()
	r := small(made{"a", driver.Power, fast, 0, fast, 100, 0}, made{"b", driver.Memory, slow, 0, fast, 100, 200})
	change(r)
	Judge(r)
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unchanged(*Result) {}

// What is read has the text that the run had, whatever the file says that it is.
func TestTextIsMadeAgain(t *testing.T) {
	for name, change := range map[string]func(*Result){
		"to the end": unchanged,
		"a lost store": func(r *Result) {
			r.Ended, r.Candidates[1].Rounds = "made: stopped answering", nil
		},
		"lost at once":                  func(r *Result) { r.Ended, r.Candidates[0].Rounds, r.Candidates[1].Rounds = "made: is gone", nil, nil },
		"errors that are no plain text": func(r *Result) { r.Candidates[0].Failures, r.Candidates[0].Failure = 1, "a\x1b[31m\xff\tb" },
	} {
		body := written(t, change)
		var was Result
		if err := json.Unmarshal(body, &was); err != nil {
			t.Fatal(err)
		}
		r, err := parse(bytes.Replace(body, []byte(`"text": "small   `), []byte(`"text": "large   `), 1))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Text != was.Text || strings.Contains(r.Text, "\x1b") || !strings.HasPrefix(r.Text, "small   ") {
			t.Errorf("%s: the run's text was\n%s\nand it is now\n%s", name, was.Text, r.Text)
		}
		var again bytes.Buffer
		if err := r.WriteJSON(&again); err != nil || !bytes.Equal(again.Bytes(), body) && !bytes.Contains(body, []byte(`\ufffd`)) { // which is written otherwise
			t.Errorf("%s: written again it is another file: %v", name, err)
		}
	}
}

// A file that no run wrote is refused with its name, what is wrong, and what to do.
func TestFilesThatAreNoResults(t *testing.T) {
	body := string(written(t, unchanged))
	const damaged = "take it as it was, or repeat the run"
	for _, tt := range []struct{ old, new, want, remedy string }{
		{body, "", "is no result of polystore load (unexpected end", which},
		{body, "workload: blog\n", "is no result of polystore load (invalid character 'w' looking for beginning of value at line 1, column 1)", which},
		{body, "{\n \"format\": 2,\n \"rate\": NaN}", "(invalid character 'N' looking for beginning of value at line 3, column 10)", which},
		{body, "[]", "has no number of a format", which},
		{body, "null", "has no number of a format", which},
		{body, `{"format": "two"}`, "has no number of a format", which},
		{body, `{"format": 1, "text": "x", "environment": {"program": "v1.2"}}`, "has format 1, and this version of polystore reads format 3", "by the version that wrote it (v1.2), or see its field text"},
		{body, `{"format": 1}`, "has format 1, and this version of polystore reads format 3", "by the version that wrote it (it does not say which)"},
		{`"format": 3`, `"format": 4`, "has format 4", "repeat the run"},
		{`"format": 3`, `"format": 1e999`, "cannot", "result"},
		{body, body[:len(body)/2], "ends in the middle, at line ", damaged},
		{body, body[:strings.Index(body, "false")+2], "ends in the middle, at line ", damaged},
		{body, body + "{}", "is no result", which},
		{body, strings.Repeat(`{"a":`, 100_000), "is no result", which},
		{`"slots": 64,`, "", "has no slots", damaged},
		{`"rate": 200`, `"rate": null`, "has no rate", damaged},
		{`"rate": 200`, `"rate": 99999999999999999999`, "rate cannot be number 99999999999999999999", damaged},
		{`"rate": 200`, `"rate": "200"`, "rate cannot be string, as at line ", damaged},
		{`"rate": 200`, `"rate": -5`, "6 rounds at -5/s", damaged},
		{`"rounds": 6,`, `"rounds": 1000000,`, "1000000 rounds", damaged},
		{`"began": "`, `"began": "x`, "is not what a run writes: ", damaged},
		{`"store_at": 1`, `"store_at": 7`, `candidate "b": store_at is 7, and there are 2 stores`, damaged},
		{`"store_at": 1`, `"store_at": -1`, "store_at is -1", damaged},
		{`"durability": "power",` + "\n   \"setting\"", `"durability": "eternal",` + "\n   \"setting\"", `no class of durability "eternal"`, damaged},
		{`"percentile": 99,`, `"percentile": 100.5,`, "percentile 100.5", damaged},
		{`"state": "VALID"`, `"state": "SATURATED"`, `says "a" SATURATED, "b" SATURATED`, damaged},
		{`"exit": 1`, `"exit": 0`, "exit 0, and what was measured comes to ", damaged},
	} {
		text := strings.Replace(body, tt.old, tt.new, 1)
		if text == body {
			t.Fatalf("%q is not in\n%s", tt.old, body)
		}
		file := filepath.Join(t.TempDir(), "result.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(file)
		if err == nil || !strings.HasPrefix(err.Error(), "read result: "+file+" ") || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.remedy) {
			t.Errorf("%.60q in place of %.60q: %v; want the file, %q and %q", tt.new, tt.old, err, tt.want, tt.remedy)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.json")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, limit.MaxResult+1); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{dir: "name the result.json in it", filepath.Join(dir, "none"): "no such file", large: "which no result has; " + which} {
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

// Lists that are null, or have nulls, are told.
func TestNulls(t *testing.T) {
	for path, want := range map[string]string{
		"candidates": "0 candidates", "queries": "0 queries", "stores": "0 stores", "candidates.0": "has no candidates[0]", "candidates.1.rounds.2": "has no candidates[1].rounds[2]",
		"candidates.0.queries": `candidate "a": its queries are others`, "candidates.0.rounds.1.queries": "the queries of round 2", "candidates.0.rounds.1.queries.0.objectives": "the queries of round 2",
		"stores.0": "has no stores[0]", "verdicts.0": "has no verdicts[0]", "verdicts": "and what was measured comes to", "environment": "has no environment",
	} {
		_, err := parse(mutated(t, written(t, unchanged), path, nil))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is null: %v, want %q", path, err, want)
		}
	}
}

// mutated returns the file with another value at a path.
func mutated(t testing.TB, body []byte, path string, value any) []byte {
	t.Helper()
	var root any
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatal(err)
	}
	at := root
	words := strings.Split(path, ".")
	for i, word := range words {
		n := 0
		_, _ = fmt.Sscan(word, &n) // of a list
		switch x := at.(type) {
		case map[string]any:
			if at = x[word]; i == len(words)-1 {
				x[word] = value
			}
		case []any:
			if at = x[n]; i == len(words)-1 {
				x[n] = value
			}
		}
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// paths returns all paths of a JSON value.
func paths(x any, path string) []string {
	var list []string
	switch x := x.(type) {
	case map[string]any:
		for name, v := range x {
			list = append(list, paths(v, path+"."+name)...)
		}
	case []any:
		for i, v := range x {
			list = append(list, paths(v, fmt.Sprintf("%s.%d", path, i))...)
		}
	}
	if path != "" {
		list = append(list, path[1:])
	}
	return list
}

// Whatever stands in one place of the file, there is a result or an error, and no panic.
func TestMutatedResults(t *testing.T) {
	body := written(t, func(r *Result) {
		for i := range r.Candidates {
			r.Candidates[i].Rounds = r.Candidates[i].Rounds[:1]
		}
	})
	var root any
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatal(err)
	}
	refused, read := 0, 0
	for _, path := range paths(root, "") {
		for _, value := range []any{nil, -1, int64(1) << 62, "x", []any{}} {
			if r, err := parse(mutated(t, body, path, value)); err == nil {
				read++
			} else if refused++; r != nil || err.Error() == "" {
				t.Errorf("%s = %v: %v, %v", path, value, r, err)
			}
		}
	}
	if refused < 500 || read < 100 {
		t.Errorf("%d were refused and %d read, so hardly anything is tried", refused, read)
	}
}

// FuzzResult looks for a file on which reading does anything but return a result or an error.
func FuzzResult(f *testing.F) {
	f.Add(written(f, unchanged))
	f.Add(written(f, func(r *Result) { r.Ended = "made: is gone" }))
	f.Add([]byte(`{"format": 3}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		began := time.Now()
		r, err := parse(body)
		if (r == nil) == (err == nil) || r != nil && r.Text == "" {
			t.Fatalf("got %v, %v", r, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("it took %v", took)
		}
	})
}
