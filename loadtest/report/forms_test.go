package report

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

const hostile = "</script><img src=x onerror=alert(1)>|*_`[a](b)\x1b"

// The Markdown has the verdict of the text, and names have no marks.
func TestMarkdown(t *testing.T) {
	r := small(made{"a", driver.Power, fast, 0, fast, 100, 0}, made{hostile, driver.Power, slow, 0, fast, 100, 0})
	r.Again = "polystore load `x`"
	Judge(r)
	var out bytes.Buffer
	if err := r.WriteMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"\n**Take a. The objective is met; no other does that.**\n", "| one post (90 %, p99 ≤ 500 ms) | p50 | p99 | trips |", "\n|---|--:|", "\n- indexes: agree", "`polystore load 'x'`"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, never := range []string{"<img", "</script", "\x1b", " [a](b)", "|*"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in\n%s", never, text)
		}
	}
	columns := 0
	for line := range strings.Lines(text) {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n > 0 && columns > 0 && n != columns && n != 8 && n != 9 {
			t.Errorf("a row of %d cells: %s", n, line)
		} else if n > 0 {
			columns = n
		}
	}
}

// The CSV has a row for each candidate and query, as wide as the head, and no formulas.
func TestCSV(t *testing.T) {
	r := small(made{"=cmd()", driver.Power, fast, 0, fast, 100, 0}, made{"b,\"c\"\nd", driver.Power, slow, 0, fast, -1, 0})
	Judge(r)
	var out bytes.Buffer
	if err := r.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 1+2*2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	at := func(row int, name string) string { return rows[row][slices.Index(rows[0], name)] }
	for name, want := range map[string]string{"model": "'=cmd()", "query": "one post", "response_p50_us": "1000", "objectives_met": "1", "model_cpu_us_per_op": "1000", "model_record_bytes": "100"} {
		if got := at(1, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if at(2, "response_p50_us") != "" || at(3, "model_record_bytes") != "" || at(3, "model") != "b,\"c\"\nd" {
		t.Errorf("what there is not is %q and %q, in %q", at(2, "response_p50_us"), at(3, "model_record_bytes"), rows[3])
	}
}
