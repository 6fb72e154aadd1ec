package data

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A trace is read line by line, from CSV as from JSON, packed or not, with times of either form.
func TestOperations(t *testing.T) {
	const jsonl = `{"time": 1767225600.25, "query": "one post", "author": "user:1", "id": "P0001"}` + "\n\n" +
		`{"time": 1767225602, "query": "with a tag", "tags": ["go"]}` + "\n"
	const table = "at;op;author;id;tags;who\n2026-01-01T00:00:00.25Z;one post;user:1;P0001;;x\n2026-01-01T01:00:02+01:00;with a tag;;;go;y\n"
	want := []Line{
		{1, 0, 0, map[string]any{"author": "user:1", "id": "P0001"}},
		{3, 1750 * time.Millisecond, 2, map[string]any{"tags": []any{"go"}}},
	}
	for name, content := range map[string][]byte{"a.jsonl": []byte(jsonl), "a.jsonl.gz": zipped(t, jsonl), "a.csv.zst": zstdOf(t, table)} {
		file := writeFile(t, name, content)
		trace := "trace: " + filepath.Base(file)
		if strings.HasPrefix(name, "a.csv") {
			trace = "trace: {file: " + filepath.Base(file) + ", time: at, query: op, separator: \";\", list_separator: \"|\", skip: [who]}"
		}
		w, err := workload.Parse(filepath.Join(filepath.Dir(file), "small.yaml"), []byte(strings.Replace(testload.Small, "rate: 200", trace, 1)))
		if err != nil {
			t.Fatal(err)
		}
		var got []Line
		for l, err := range Operations(t.Context(), w) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if strings.HasPrefix(name, "a.csv") && l.Number == 2 {
				l.Number-- // the first line names the fields
			}
			got = append(got, l)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
