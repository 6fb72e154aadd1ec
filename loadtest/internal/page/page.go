// Package page writes a result as one page for a browser. A Result comes in; HTML goes out, which has all
// that it needs in itself, so that it opens without a network. The charts are drawn by uPlot; see uplot/LICENSE.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/report"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed charts.js
	chartsJS string
	//go:embed uplot/uPlot.iife.min.js
	uplotJS string
	//go:embed uplot/uPlot.min.css
	uplotCSS string
	//go:embed uplot/LICENSE
	uplotLicense string
)

// A view is what the template shows. Texts are those of the sheet; what is trusted is of this package alone.
type view struct {
	*report.Sheet
	Result      *report.Result
	Verdicts    []verdict
	Objectives  report.Table
	Rounds      report.Table
	Rates       report.Table
	Spreads     report.Table
	Environment []report.Item
	Settings    []report.Item
	Charts      *charts
	Policy      string
	CSS         []template.CSS
	UPlot, JS   template.JS
	License     string
}

// A verdict is a statement with how it is shown.
type verdict struct {
	report.Statement
	group
	Class, Word string
}

// A group are texts of one name, of which the first are shown at once.
type group struct {
	Name        string
	Texts, More []string
}

const shown = 6 // texts of a group

func groupOf(name string, texts []string) group {
	n := min(shown, len(texts))
	return group{name, texts[:n], texts[n:]}
}

// groups returns items by their names, in their order.
func groups(list []report.Item) (out []group) {
	for len(list) > 0 {
		var texts []string
		name := list[0].Name
		for len(list) > 0 && list[0].Name == name {
			texts, list = append(texts, list[0].Text), list[1:]
		}
		out = append(out, groupOf(name, texts))
	}
	return out
}

var page = template.Must(template.New("page").Funcs(template.FuncMap{"note": note, "groups": groups, "last": func(i, n int) bool { return i == n-1 }}).Parse(pageHTML))

// Write writes the page of a result that was judged.
func Write(w io.Writer, r *report.Result) error {
	v := &view{Sheet: r.Sheet(), Result: r, Objectives: objectives(r), Rounds: rounds(r), Rates: rates(r), Spreads: spreads(r),
		Environment: environment(r), Settings: settings(r), Charts: chartsOf(r),
		CSS: []template.CSS{template.CSS(uplotCSS), template.CSS(pageCSS)}, UPlot: template.JS(uplotJS), JS: template.JS(chartsJS), License: uplotLicense}
	for i, s := range v.Sheet.Verdicts {
		x := verdict{s, groupOf("", s.Others), "unknown", "no verdict"}
		switch {
		case s.Met:
			x.Class, x.Word = "met", "met"
		case i < len(r.Verdicts) && r.Verdicts[i].Unknown == "":
			x.Class, x.Word = "missed", "not met"
		}
		v.Verdicts = append(v.Verdicts, x)
	}
	v.Policy = fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src %s; script-src %s",
		hashes(uplotCSS, pageCSS), hashes(uplotJS, chartsJS))
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// hashes returns sources of a content security policy: these texts and no others.
func hashes(texts ...string) string {
	var list []string
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		list = append(list, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return strings.Join(list, " ")
}

// note returns the class of a last cell of a row.
func note(text string) string {
	switch {
	case text == "VALID" || text == "met":
		return "good"
	case text == "" || strings.Contains(text, "rounds"):
		return "plain"
	case strings.HasPrefix(text, "missed") || text == "SATURATED" || strings.Contains(text, "failed"):
		return "bad"
	}
	return "odd"
}

func environment(r *report.Result) []report.Item {
	e := r.Environment
	list := []report.Item{{Name: "system", Text: strings.TrimSpace(e.OS + " " + e.Arch + " " + e.Kernel)}, {Name: "processor", Text: e.CPU},
		{Name: "processors", Text: fmt.Sprintf("%d, of which Go used %d", e.CPUs, e.GOMAXPROCS)}, {Name: "Go", Text: e.Go}, {Name: "polystore", Text: e.Program}}
	for _, s := range r.Stores {
		text := strings.TrimSpace(s.Name+" "+s.Version) + ", " + s.URL
		for _, part := range []string{s.Detail, "class " + s.Durability + " (" + s.Setting + ")", "CPU of " + s.CPUOf, s.Sizes} {
			if part != "" {
				text += "; " + part
			}
		}
		list = append(list, report.Item{Name: "store", Text: text})
	}
	return list
}

func settings(r *report.Result) []report.Item {
	list := []report.Item{{Name: "workload", Text: r.Workload + ", " + r.File}, {Name: "began", Text: r.Began.UTC().Format("2006-01-02 15:04:05 MST")}, {Name: "took", Text: format.Duration(r.Took)},
		{Name: "rate", Text: format.Count(r.Rate) + " operations a second"}, {Name: "rounds", Text: fmt.Sprintf("%d of %v", r.Rounds, r.Round)},
		{Name: "slots", Text: format.Count(r.Slots)}, {Name: "seed", Text: fmt.Sprint(r.Seed)}}
	for _, d := range r.Data {
		text := fmt.Sprintf("%s: %s by %s", d.Collection, format.Plural(d.Records, "record"), strings.Join(d.Key, ", "))
		if d.File != "" {
			text += ", from " + d.File
		}
		list = append(list, report.Item{Name: "data", Text: text})
	}
	for _, q := range r.Queries {
		text := fmt.Sprintf("%s: %s of %s, %s", q.Name, q.Kind, q.Collection, format.Percent(q.Weight))
		for _, o := range q.Objectives {
			text += ", " + o.String()
		}
		if q.Misses {
			text += ", may find nothing"
		}
		list = append(list, report.Item{Name: "query", Text: text})
	}
	for _, m := range r.Models {
		list = append(list, report.Item{Name: "model", Text: m})
	}
	return append(list, report.Item{Name: "again", Text: r.Again}, report.Item{Name: "fingerprint", Text: r.Fingerprint})
}
