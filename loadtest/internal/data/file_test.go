package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// rowsWorkload has a collection with a field of every kind, read from a file.
func rowsWorkload(t *testing.T, file, more string) *workload.Workload {
	t.Helper()
	text := `workload: rows
collections:
  - collection: things
    partition: [id]
    fields: {id: string, at: string, n: int, f: float, b: bool, t: time, raw: bytes, list: list, map: map}
    indexes:
      - {partition: [n], unique: true}
      - {partition: ["list[]"]}
    data: {file: ` + filepath.Base(file) + more + `}
queries:
  - {name: one, weight: 100, kind: get}
`
	w, err := workload.Parse(filepath.Join(filepath.Dir(file), "rows.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func writeFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdOf(t *testing.T, text string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll([]byte(text), nil)
}

var everyKind = map[string]any{
	"id": "a", "n": int64(7), "f": 1.5, "b": true, "t": time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC),
	"raw": []byte("hi"), "list": []any{"x", "y"}, "map": map[string]any{"k": int64(1)},
}

func TestRowsAreRead(t *testing.T) {
	const object = `{"id":"a","n":7,"f":1.5,"b":true,"t":"2024-05-06T07:08:09Z","raw":"aGk=","list":["x","y"],"map":{"k":1}}` + "\n"
	tests := []struct {
		name, file, more string
		content          []byte
	}{
		{"JSON Lines", "a.jsonl", "", []byte(object)},
		{"no line end, blank lines", "a.jsonl", "", []byte("\n" + strings.TrimSpace(object))},
		{"byte order mark and CRLF", "a.jsonl", "", []byte("\xef\xbb\xbf" + strings.ReplaceAll(object, "\n", "\r\n"))},
		{"gzip", "a.jsonl.gz", "", zipped(t, object)},
		{"zstd", "a.jsonl.zst", "", zstdOf(t, object)},
		{"other names, some left out", "a.data", `, format: jsonl, map: {id: ID}, skip: [junk]`, []byte(strings.Replace(object, `"id"`, `"junk":[1],"ID"`, 1))},
		{"unix times", "a.jsonl", ", times: unix", []byte(strings.Replace(object, `"2024-05-06T07:08:09Z"`, "1714979289", 1))},
		{"null is absent", "a.jsonl", `, skip: ["*"]`, []byte(strings.Replace(object, `{`, `{"other":null,`, 1))},
		{"CSV", "a.csv", "", []byte("id,n,f,b,t,raw,list,map\na,7,1.5,true,2024-05-06T07:08:09Z,aGk=,x; y,\"{\"\"k\"\":1}\"\n")},
		{"other names, exchanged", "a.jsonl", `, map: {id: raw, raw: id}`, []byte(strings.NewReplacer(`"id"`, `"raw"`, `"raw"`, `"id"`).Replace(object))},
		{"CSV with other marks", "a.csv", `, separator: ";", list_separator: "|"`, []byte("id;n;f;b;t;raw;list;map\na;7;1.5;true;2024-05-06T07:08:09Z;aGk=;x|y;\"{\"\"k\"\":1}\"\n")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := rowsWorkload(t, writeFile(t, tt.file, tt.content), tt.more)
			n := 0
			for r, err := range Rows(t.Context(), w, w.Collections[0], nil) {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(everyKind, r.record); diff != "" {
					t.Errorf("want -, got +\n%s", diff)
				}
				n++
			}
			if n != 1 {
				t.Errorf("%d rows, want 1", n)
			}
		})
	}
}

type rowFault struct{ name, file, content, place, want string }

func rowFaults(t *testing.T) []rowFault {
	t.Helper()
	long := strings.Repeat("x", 10<<20)
	return []rowFault{
		{"text for a number", "a.jsonl", `{"id":"a","n":"7"}`, ":1:", `n: text "7", want a whole number`},
		{"fraction for a number", "a.jsonl", `{"id":"a","n":7.5}`, ":1:", "not a whole number"},
		{"number too large", "a.jsonl", `{"id":"a","n":99999999999999999999}`, ":1:", "not a whole number"},
		{"number for text", "a.jsonl", "{\"id\":\"a\"}\n{\"id\":5}", ":2:", "want text of kind string"},
		{"object for a list", "a.jsonl", `{"id":"a","list":{}}`, ":1:", "want a list"},
		{"bad time", "a.jsonl", `{"id":"a","t":"tomorrow"}`, ":1:", "is not a time"},
		{"number for a time", "a.jsonl", `{"id":"a","t":1714979289}`, ":1:", "times: unix"},
		{"bad base64", "a.jsonl", `{"id":"a","raw":"%%"}`, ":1:", "is not base64"},
		{"no key", "a.jsonl", `{"n":1}`, ":1:", "has no id, which is part of the key"},
		{"null key", "a.jsonl", `{"id":null}`, ":1:", "has no id"},
		{"unknown field", "a.jsonl", `{"id":"a","colour":"red"}`, ":1:", "skip: [colour]"},
		{"name twice", "a.jsonl", `{"id":"a","id":"b"}`, ":1:", `"id" comes twice`},
		{"key twice", "a.jsonl", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"a\"}", ":3:", `the key "a" is that of line 1, too`},
		{"unique value twice", "a.jsonl", "{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":1}", ":2:", "an index on it is unique"},
		{"element that is no text", "a.jsonl", `{"id":"a","list":[1]}`, ":1:", "takes text only"},
		{"no object", "a.jsonl", `[1]`, ":1:", "is no JSON object"},
		{"two objects", "a.jsonl", `{"id":"a"} {"id":"b"}`, ":1:", "one JSON object a line"},
		{"half an object", "a.jsonl", `{"id":"a"`, ":1:", "not complete"},
		{"no JSON", "a.jsonl", `{"id":x}`, ":1:7", "invalid character"},
		{"deep", "a.jsonl", `{"id":"a","map":` + strings.Repeat(`{"a":`, 5000), ":1:", "nested more than"},
		{"half a character", "a.jsonl", `{"id":"\ud800"}`, ":1:", "half of a character"},
		{"not UTF-8", "a.jsonl", "{\"id\":\"\xe9\"}", ":1:", "not valid UTF-8"},
		{"UTF-16", "a.jsonl", "\xff\xfe{\x00", "", "this is UTF-16"},
		{"NUL", "a.jsonl", "{\"id\":\"a\"}\x00", ":1:", "NUL"},
		{"long line", "a.jsonl", "{\"id\":\"a\"}\n{\"id\":\"" + long + "\"}", ":2:", "longer than 1048576 bytes"},
		{"empty", "a.jsonl", "", "", "there is no record"},
		{"gzip that is none", "a.jsonl.gz", `{"id":"a"}`, "", "not a gzip file"},
		{"zstd that is none", "a.jsonl.zst", `{"id":"a"}`, "", "not a zstd file"},
		{"zstd cut off", "a.jsonl.zst", string(zstdOf(t, strings.Repeat(`{"id":"a"}`+"\n", 9)))[:12], "", "ends in the middle"},
		{"zstd under another name", "a.jsonl", "\x28\xb5\x2f\xfd", "", "this is a zstd file; give it a name that ends in .zst"},
		{"gzip without its name", "a.jsonl", string(zipped(t, "{}")), "", "ends in .gz"},
		{"gzip cut off", "a.jsonl.gz", string(zipped(t, strings.Repeat(`{"id":"a"}`+"\n", 1)))[:20], "", "ends in the middle"},
		{"CSV without a head", "a.csv", "", "", "the file is empty"},
		{"CSV head twice", "a.csv", "id,id\na,b\n", ":1:", "comes twice"},
		{"CSV unknown column", "a.csv", "id,colour\na,red\n", ":1:", "skip: [colour]"},
		{"CSV bad number", "a.csv", "id,n\na,7\nb,x\n", ":3:", `n: "x" is not a whole number`},
		{"CSV bad bool", "a.csv", "id,b\na,yes\n", ":2:", "neither true nor false"},
		{"CSV NaN", "a.csv", "id,f\na,NaN\n", ":2:", "not a number"},
		{"CSV row too short", "a.csv", "id,n\na,7\nb\n", ":3:", `the row has 1 field, and the first line names 2; put a field with ","`},
		{"CSV rows too long and too short", "a.csv", "id,n\na,7,8\nb\n", ":2:", "has 3 fields"},
		{"CSV with another separator", "a.csv", "id;n\na;7\n", ":1:", `as in separator: ";"`},
		{"CSV column without a name", "a.csv", "id,\na,7\n", ":1:", `skip: [""]`},
		{"CSV long row of many lines", "a.csv", "id,n\na,7\n\"" + strings.Repeat("x\n", 4<<20), ":3:", "is a quote not closed?"},
		{"CSV open quote", "a.csv", "id,n\n\"a,7\n", ":2:", "quote"},
		{"CSV empty key", "a.csv", "id,n\n,7\n", ":2:", "has no id"},
		{"CSV not UTF-8", "a.csv", "id,n\n\xe9,7\n", ":2:", "not valid UTF-8"},
		{"CSV long line", "a.csv", "id,n\na,7\n" + long + ",8\n", ":3:", "longer than 1048576 bytes"},
	}
}

func TestRowFaults(t *testing.T) {
	for _, tt := range rowFaults(t) {
		t.Run(tt.name, func(t *testing.T) {
			file := writeFile(t, tt.file, []byte(tt.content))
			w := rowsWorkload(t, file, "")
			_, err := Survey(t.Context(), w, nil)
			var faults failure.Faults
			if !errors.As(err, &faults) {
				t.Fatalf("got %v, want Faults", err)
			}
			if got := err.Error(); !strings.Contains(got, file+tt.place) || !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant it to contain %q and %q", testload.Short(got), filepath.Base(file)+tt.place, tt.want)
			}
			if len(err.Error()) > 4000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestRowFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"none.jsonl": "no such file", "sub.jsonl": "is a directory"} {
		_, err := Survey(t.Context(), rowsWorkload(t, filepath.Join(dir, name), ""), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// A file without records ends with the run, too.
func TestReadingIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := writeFile(t, "a.jsonl", bytes.Repeat([]byte("\n"), 1<<20))
	if _, err := Survey(ctx, rowsWorkload(t, file, ""), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// A list or object in which nothing is, is absent, as in JSON Lines, so that
// nothing draws one of its elements.
func TestEmptyCellsAreAbsent(t *testing.T) {
	w := rowsWorkload(t, writeFile(t, "a.csv", []byte("id,list,map\na,;,{}\n")), "")
	for r, err := range Rows(t.Context(), w, w.Collections[0], nil) {
		if diff := cmp.Diff(map[string]any{"id": "a"}, r.record); err != nil || diff != "" {
			t.Errorf("%v; want -, got +\n%s", err, diff)
		}
	}
}

// A generated record without its key is told as that, not as two with one key.
func TestGeneratedKeyThatIsMissing(t *testing.T) {
	w := testload.Parsed(t, workload.Parse, strings.Replace(testload.Small, `pattern: "P%04d"}`, `pattern: "P%04d", missing: 0.5}`, 1))
	_, err := Survey(t.Context(), w, nil)
	if err == nil || !strings.Contains(err.Error(), "it has no id, which is part of the key") || strings.Contains(err.Error(), "names one record") {
		t.Errorf("%v, want that a key is missing", err)
	}
}

// After many faults reading stops: nobody wants a million messages.
func TestManyRowFaults(t *testing.T) {
	file := writeFile(t, "a.jsonl", []byte(strings.Repeat("{}\n", 100_000)))
	_, err := Survey(t.Context(), rowsWorkload(t, file, ""), nil)
	var faults failure.Faults
	if !errors.As(err, &faults) || len(faults) != limit.MaxFaults {
		t.Errorf("%d faults, want %d", len(faults), limit.MaxFaults)
	}
}

func fuzzRows(f *testing.F, name string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		w := rowsWorkload(t, writeFile(t, name, content), `, skip: ["*"]`)
		data, err := Survey(t.Context(), w, nil)
		if err != nil {
			var faults failure.Faults
			if !errors.As(err, &faults) {
				t.Fatalf("got %v, want Faults", err)
			}
			return
		}
		for r, err := range Rows(t.Context(), w, w.Collections[0], nil) {
			if err != nil || r.record["id"] == nil {
				t.Fatalf("second reading: %v, %v", r.record, err)
			}
		}
		if data[0].Len == 0 {
			t.Fatal("no record and no fault")
		}
	})
}

func FuzzJSONRows(f *testing.F) {
	fuzzRows(f, "a.jsonl", `{"id":"a","n":7,"list":["x"],"map":{"k":[1]}}`, "{\"id\":\"\\ud800\"}\n{}", "\xff\xfe", `{"id":1e999}`)
}

func FuzzCSVRows(f *testing.F) {
	fuzzRows(f, "a.csv", "id,n\na,7\n", "id,list,map\n\"a\nb\",x;y,{}\n", "id\n\"", "\xef\xbb\xbfid\na\n")
}

func FuzzZippedRows(f *testing.F) {
	fuzzRows(f, "a.jsonl.gz", "\x1f\x8b\x08", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00")
}

// The first records of a file are taken where the workload says so, and what lies behind them is not read.
func TestFirstRecords(t *testing.T) {
	w := rowsWorkload(t, writeFile(t, "things.jsonl", []byte("{\"id\": \"a\"}\n{\"id\": \"b\"}\n{\"id\": \"c\"}\nno JSON\n")), "")
	w.Records = 2
	if _, err := Survey(t.Context(), w, nil); err == nil {
		t.Error("a sample is of all lines, and one of them is none")
	}
	w.First = true
	tables, err := Survey(t.Context(), w, nil)
	if err != nil || tables[0].Len != 2 || tables[0].Column("id")[1] != "b" {
		t.Errorf("%v, %v; want the first two records", tables, err)
	}
}
