package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/net/html"

	"github.com/polystore/polystore/loadtest/report"
)

const hostile = "</script><img src=x onerror=alert(1)><!--\"'`${alert(1)}\u2028{{.}}"

// made returns a judged result of so many stores and models, in which every name is one.
func made(stores, models, rounds int, name string) *report.Result {
	r := &report.Result{Format: report.Format, Workload: name, File: name, Rate: 100, Rounds: max(rounds, 1), Round: time.Second, Slots: 8, Again: name, Fingerprint: name,
		Environment: report.Environment{CPU: name, Program: name}, Data: []report.DataResult{{Collection: name, Key: []string{name}, Records: 10, File: name}},
		Queries: []report.QuerySetting{{Name: name, Weight: 100, Kind: "get", Collection: name, Objectives: []report.ObjectiveSetting{{Name: "p99", Percentile: 99, Bound: time.Second}}},
			{Name: "never " + name, Kind: "put"}},
		NotThere: []report.AbsentResult{{Name: name, Reason: name}}}
	h := hdrhistogram.New(1000, 1e9, 3)
	for i := range 5000 {
		_ = h.RecordValue(int64(1e6 + i*1000))
	}
	text, _ := h.EncodeV2()
	for s := range stores {
		r.Stores = append(r.Stores, report.StoreResult{URL: name, Name: fmt.Sprint(name, s), Version: name, Detail: name, Durability: "power", Setting: name, CPUOf: name, Sizes: name, InProcess: true})
		for m := range models {
			c := report.CandidateResult{Name: fmt.Sprintf("%s %d on %d", name, m, s), Model: name, StoreAt: s, RecordBytes: int64(100 * m), IndexBytes: 50, Failure: name, Failures: m % 2}
			c.Queries = []report.QueryResult{{Name: name, Calls: 5000, Outcomes: map[string]int{"done": 5000}, Histograms: map[string]string{"response": string(text)}}, {Name: "never " + name}}
			for i := range rounds {
				mark := report.Mark{Response: time.Millisecond, Service: time.Millisecond}
				c.Rounds = append(c.Rounds, report.RoundResult{Number: i + 1, Ops: 1000, Began: time.Duration(i+1) * time.Second, Took: time.Second, Stall: time.Duration(i%2) * time.Second,
					Series:  []report.IntervalResult{{At: 0, Calls: 10, P50: 1000, P99: 2000, Max: 3000}},
					Queries: []report.RoundQuery{{Name: name, Calls: 1000, Work: time.Millisecond, P50: mark, P99: mark, Objectives: []report.Mark{mark}}, {Name: "never " + name, Objectives: []report.Mark{}}}})
			}
			c.Steps = []report.StepResult{{Rate: 200, Failure: name, Rounds: c.Rounds}}
			r.Candidates = append(r.Candidates, c)
			if s == 0 {
				r.Models = append(r.Models, c.Model)
				r.Spreads = append(r.Spreads, report.SpreadResult{Model: name, Collection: name, Partition: []string{name}, Partitions: 2, Largest: 2000})
			}
		}
	}
	report.Judge(r)
	return r
}

// A seen is what a browser makes of a page.
type seen struct {
	tags    map[string]int
	text    string
	data    string // of the charts
	scripts int    // that run
	bad     []string
}

func look(t *testing.T, r *report.Result) (*seen, string) {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, r); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{tags: map[string]int{}}
	var text strings.Builder
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			s.element(n)
		case html.TextNode:
			if p := n.Parent.Data; p != "script" && p != "style" {
				text.WriteString(n.Data)
			}
		}
	}
	s.text = text.String()
	return s, out.String()
}

// element looks for what a page without a network cannot have.
func (s *seen) element(n *html.Node) {
	s.tags[n.Data]++
	isData := false
	for _, a := range n.Attr {
		switch {
		case a.Key == "src" || a.Key == "href" || a.Key == "srcset" || a.Key == "action" || a.Key == "style" || strings.HasPrefix(a.Key, "on"):
			s.bad = append(s.bad, a.Key+"="+a.Val)
		case n.Data == "script" && a.Key == "type":
			isData = a.Val == "application/json"
		}
	}
	switch {
	case n.Data == "script" && isData:
		s.data = n.FirstChild.Data
	case n.Data == "script":
		s.scripts++
	case n.Data == "img" || n.Data == "link" || n.Data == "iframe" || n.Data == "object" || n.Data == "base" || n.Data == "form":
		s.bad = append(s.bad, "<"+n.Data+">")
	}
}

// Names are text wherever they stand: none makes an element, an attribute or a script.
func TestHostileNames(t *testing.T) {
	plain, _ := look(t, made(2, 2, 4, "plain"))
	s, page := look(t, made(2, 2, 4, hostile))
	if len(s.bad) > 0 || s.scripts != 2 || strings.Contains(page, "<img") || strings.Contains(page, "<!--\"") {
		t.Errorf("%q, and %d scripts", s.bad, s.scripts)
	}
	for tag, n := range s.tags {
		if n != plain.tags[tag] {
			t.Errorf("%d of <%s>, and %d with plain names", n, tag, plain.tags[tag])
		}
	}
	if strings.Count(s.text, "</script><img src=x onerror=alert(1)>") < 30 {
		t.Errorf("the names are not shown as they are: %s", s.text)
	}
	var data charts
	if err := json.Unmarshal([]byte(s.data), &data); err != nil || data.Queries[0].Name != hostile || strings.Contains(s.data, "</") {
		t.Errorf("the data: %v, %.200s", err, s.data)
	}
}

// The page asks nothing of a network, and runs only the scripts that it came with.
func TestPageIsWhole(t *testing.T) {
	s, page := look(t, made(1, 2, 4, "name"))
	if len(s.bad) > 0 || s.scripts != 2 || s.tags["style"] != 2 {
		t.Errorf("%q, %d scripts, %d styles", s.bad, s.scripts, s.tags["style"])
	}
	for _, want := range []string{"default-src &#39;none&#39;", strings.ReplaceAll(strings.ReplaceAll(hashes(uplotJS, chartsJS), "'", "&#39;"), "+", "&#43;"), "<script>" + uplotJS + "</script>", "<script>" + chartsJS + "</script>",
		"<style>" + uplotCSS + "</style>", "<style>" + pageCSS + "</style>", "The MIT License"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %.80q", want)
		}
	}
	if strings.Contains(pageCSS+uplotCSS, "url(") || strings.Contains(pageCSS+uplotCSS, "@import") || !strings.Contains(pageCSS, "prefers-color-scheme: dark") || !strings.Contains(pageCSS, "@media print") {
		t.Error("a style loads something, or lacks darkness or paper")
	}
}

// The page has the verdicts of the text, first of all, and what the text has.
func TestPageSaysTheSame(t *testing.T) {
	r := made(3, 2, 4, "name")
	s, _ := look(t, r)
	sheet := r.Sheet()
	last := strings.Index(s.text, "Verdict")
	for _, v := range sheet.Verdicts {
		at := strings.Index(s.text, v.Text)
		if at < last || at > strings.Index(s.text, "What was checked") {
			t.Errorf("%q is at %d", v.Text, at)
		}
	}
	for _, x := range append(append(sheet.Checks, sheet.Caveats...), sheet.Findings...) {
		if !strings.Contains(s.text, x.Text) {
			t.Errorf("no %q", x.Text)
		}
	}
	for _, table := range append(sheet.Queries, sheet.Mix) {
		for _, row := range append(table.Rows, table.Head) {
			for _, cell := range row {
				if !strings.Contains(s.text, cell) {
					t.Errorf("no %q", cell)
				}
			}
		}
	}
}

// Results that have little, much or nonsense have a page, whose data are JSON.
func TestOddResults(t *testing.T) {
	lost := made(1, 1, 0, "lost")
	lost.Ended = "made: is gone"
	odd := made(1, 2, 4, "odd")
	odd.Candidates[0].RowsEach, odd.Candidates[0].TripsEach, odd.Queries[0].Weight = math.NaN(), math.Inf(1), math.NaN()
	odd.Candidates[0].Queries[0].Histograms["response"] = "no histogram"
	odd.Candidates[0].Rounds[0].Number = -7
	odd.Candidates[0].Rounds[0].Took = -1 << 63
	odd.Candidates[1].RecordBytes, odd.Candidates[1].Queries[0].Histograms = -1, nil
	older := made(1, 1, 4, "older")
	for i := range older.Candidates[0].Rounds {
		older.Candidates[0].Rounds[i].Series = nil
	}
	for name, r := range map[string]*report.Result{"lost": lost, "odd": odd, "older": older, "one round": made(1, 1, 1, "one"), "many": made(5, 6, 2, strings.Repeat("long ", 40))} {
		report.Judge(r)
		s, _ := look(t, r)
		var data charts
		if err := json.Unmarshal([]byte(s.data), &data); err != nil || len(data.Candidates) != len(r.Candidates) || len(s.bad) > 0 {
			t.Errorf("%s: %v, %q, %.200s", name, err, s.bad, s.data)
		}
	}
}

// The spectrum ends where fewer than ten calls lie beyond, and rises.
func TestSpectrum(t *testing.T) {
	data := chartsOf(made(1, 1, 4, "name"))
	last := 0.0
	for i, x := range data.Spectra {
		v := data.Queries[0].Spectra[0][i]
		if (v != nil) != (x*beyond <= 5000) || v != nil && *v < last {
			t.Errorf("at 1 in %v: %v after %v", x, v, last)
		}
		if v != nil {
			last = *v
		}
	}
	if last < 5.9 || last > 6 || data.Queries[0].Bound == nil || *data.Queries[0].Bound != 1000 {
		t.Errorf("p99.8 of 1 to 6 ms is %v, the bound %v", last, data.Queries[0].Bound)
	}
	if len(data.Time) != 4 || !data.Time[0].First || data.Time[0].At != 1 || len(data.Stalls) != 2 || len(data.Queries[0].Steps[0]) != 1 {
		t.Errorf("time line %v, stalls %v, steps %v", data.Time, data.Stalls, data.Queries[0].Steps)
	}
}
