package draft

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// drafted returns the draft for a file of some name and content.
func drafted(t *testing.T, name, content string) (file, text string, err error) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err = Of(t.Context(), file)
	return file, text, err
}

// accepted sees that a draft is a workload whose data are right.
func accepted(t *testing.T, file, text string) *workload.Workload {
	t.Helper()
	w, err := workload.Parse(filepath.Join(filepath.Dir(file), "draft.yaml"), []byte(text))
	if err == nil {
		_, err = data.Survey(t.Context(), w, nil)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return w
}

func rows(n int, head string, row func(i int) string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		b.WriteString(row(i) + "\n")
	}
	return b.String()
}

func TestDraft(t *testing.T) {
	for name, tt := range map[string]struct {
		file, content string
		want          []string
	}{
		"a key by its name": {"a.csv", rows(40, "serial,user_id,team,at\n", func(i int) string { return fmt.Sprintf("%d,u%d,t%d,2024-01-02T03:04:05Z", i, i, i%4) }),
			[]string{"partition: [user_id]   # guess", "serial: int", "at: time", "{partition: [team], sort: [-at], covers: [\"*\"]}", "workload: a\n", "name: by team", `set: {user_id: {sequence: 1, pattern: "new-%06d"}}`}},
		"a pair": {"B c.CSV", rows(40, "a;b;n\n", func(i int) string { return fmt.Sprintf("x%d;%d;1", i%5, i/5) }),
			[]string{"partition: [a]", "sort: [b]", `separator: ";"`, "collection: b_c", "set: {b: {sequence: 8}}"}},
		"no key": {"a.csv", "a,b,c\nx,y,1\nx,y,2\nz,y,1\nz,y,3\n", []string{"partition: [a]", "sort: [c]"}},
		"no key of two": {"a.csv", rows(8, "a,b,c\n", func(i int) string { return fmt.Sprintf("%d,%d,%d", i&1, i>>1&1, i>>2) }),
			[]string{"neither a column nor two are others", "sort: [b, c]"}},
		"zeros in front": {"a.csv", "zip,n\n00123,1\n00124,1\n", []string{"zip: string", "n: int"}},
		"odd names":      {"a.csv", "true,Größe (cm),,\"a\"\"b\",größe cm\n1,2,3,4,5\n2,2,3,4,5\n", []string{"true_field: int", "gr_e_cm: int", "gr_e_cm_2: int", `gr_e_cm: "Größe (cm)"`}},
		"objects": {"a.jsonl", rows(30, "", func(i int) string {
			return fmt.Sprintf(`{"id":%d,"tags":["a"],"at":"2024-01-02T03:04:05Z","deep":{"x":1},"f":%d.5,"b":true,"mixed":%s,"no":null}`, i, i, []string{"1", `"x"`}[i%2])
		}), []string{"id: int", "tags: list", "deep: map", "f: float", "b: bool", "skip: [mixed]", "set: {id: {sequence: 30}}"}},
		"lists": {"a.jsonl", rows(30, "", func(i int) string {
			return fmt.Sprintf(`{"id":"r%d","n":%d,"sizes":[%d],"once":["o%d"],"tags":["t%d","all"]}`, i, i, i%3, i, i%4)
		}), []string{`{partition: ["tags[]"], sort: [-n], covers: ["*"]}   # 5 elements`, `name: by tags, weight: 30, kind: find, where: {"tags[]": $}, order: [-n]`}},
		"tabs": {"a.tsv", "id\tx\n1\t2\n2\t2\n", []string{"format: csv", `separator: "\t"`}},
	} {
		t.Run(name, func(t *testing.T) {
			file, text, err := drafted(t, tt.file, tt.content)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("the draft has no %q:\n%s", want, text)
				}
			}
			accepted(t, file, text)
		})
	}
}

// The draft for the packages of Debian is one that a run takes.
func TestDraftOfRealData(t *testing.T) {
	const file = "../../../examples/debian/packages.jsonl.gz"
	text, err := Of(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	w := accepted(t, file, text)
	if len(w.Models) != 4 || !strings.Contains(text, "partition: [name]   # guess") || !strings.Contains(text, "{partition: [maintainer]") {
		t.Errorf("%d models:\n%s", len(w.Models), text)
	}
}

func TestDraftFaults(t *testing.T) {
	for name, tt := range map[string]struct{ file, content, want string }{
		"nothing":          {"a.csv", "", "it is empty; its first line should name the fields"},
		"no row":           {"a.csv", "a,b\n", "there is no row in it"},
		"no format":        {"a.txt", "a", "the name should end in .csv, .jsonl"},
		"a bad row":        {"a.csv", "a,b\n1\n", "wrong number of fields"},
		"no JSON":          {"a.jsonl", "{}\nx\n", "line 2: "},
		"too wide":         {"a.csv", strings.Repeat("a,", 300) + "\n", "more than 256 columns"},
		"gzip that is not": {"a.csv.gz", "a,b\n", "is no gzip file"},
		"no value":         {"a.jsonl", "{}\n{}\n", ""},
	} {
		file, text, err := drafted(t, tt.file, tt.content)
		if tt.want == "" {
			if err != nil || !strings.Contains(text, "a record needs a key") {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
			continue
		}
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tt.want)) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := Of(t.Context(), t.TempDir()); err == nil {
		t.Error("a directory is read")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	file, _, _ := drafted(t, "a.csv", rows(5000, "a\n", func(i int) string { return fmt.Sprint(i) }))
	if _, err := Of(over, file); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is over: %v", err)
	}
}

// Whatever the cells and names are, the draft is a workload that reads the file, unless there is no key.
func TestDraftsOfAnything(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 9))
	words := []string{"", "a", "0", "1", "-7", "1.5", "true", "null", "2024-01-02T03:04:05Z", "x:y", "# no", "'", "[", "{", "%d", "é", "$a", "$$", " ", "a b", "- a", "*", "&x", "!t", "9223372036854775807"}
	quoteCell := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	for n := range 300 {
		var lines []string
		width := 2 + d.IntN(5)
		for i := range 2 + d.IntN(20) {
			cells := []string{quoteCell([]string{"id", "key", "n"}[n%3])}
			if i > 0 {
				cells[0] = fmt.Sprint(i)
			}
			for j := range width {
				word := words[d.IntN(len(words))]
				if i == 0 {
					word += fmt.Sprint(j) // no name twice
				}
				cells = append(cells, quoteCell(word))
			}
			lines = append(lines, strings.Join(cells, ","))
		}
		file, text, err := drafted(t, "x.csv", strings.Join(lines, "\n")+"\n")
		if err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(lines, "\n"))
		}
		accepted(t, file, text)
	}
}

func TestPackedDraft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.csv.gz")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(out)
	_, err = z.Write([]byte("\xef\xbb\xbfid,n\n1,2\n2,2\n"))
	if err := errors.Join(err, z.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := Of(t.Context(), file)
	if err != nil || !strings.Contains(text, "partition: [id]") {
		t.Fatalf("%v\n%s", err, text)
	}
	accepted(t, file, text)
}
