package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// crowd returns a judged result of so many stores, each of a class of its own where there are such, and
// so many models on each.
func crowd(stores, models int, name string) *Result {
	var list []made
	for s := range stores {
		for m := range models {
			list = append(list, made{fmt.Sprintf("%s %d on store %d", name, m, s), driver.Memory + driver.Durability(s%4), fast * time.Duration(1+m%2*999), 0, fast * time.Duration(m+1), 100, 0})
		}
	}
	r := small(list...)
	for i := range r.Candidates {
		r.Candidates[i].Rounds[1].Stall, r.Candidates[i].Rounds[1].Stalled = time.Second, 30
	}
	Judge(r)
	return r
}

func screen(t *testing.T, r *Result, all bool) []string {
	t.Helper()
	r.Again = "polystore load x.yaml"
	var out bytes.Buffer
	if err := r.WriteText(&out, Files{"result.json", "report.html"}, all); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// The first screen begins with the verdict and has at most 25 lines, however much was measured.
func TestScreen(t *testing.T) {
	for _, stores := range []int{1, 4, 5} {
		for _, models := range []int{1, 3, 6} {
			for _, name := range []string{"model", strings.Repeat("long ", 40)} {
				r := crowd(stores, models, name)
				list := screen(t, r, false)
				text := strings.Join(list, "\n")
				what := fmt.Sprintf("%d stores, %d models, %.5q", stores, models, name)
				if len(list) > screenLines {
					t.Errorf("%s: %d lines\n%s", what, len(list), text)
				}
				for i, v := range r.Sheet().Verdicts {
					begin := strings.Join(strings.Fields(v.Text)[:2], " ")
					at := slices.IndexFunc(list, func(line string) bool { return strings.HasPrefix(line, "  "+begin) })
					if at < 2 || at > screenSays+2 {
						t.Errorf("%s: verdict %d is in line %d\n%s", what, i, at, text)
					}
				}
				for _, want := range []string{"same answers", "stalls", "report --all result.json", "page    report.html", "result  result.json", "again   polystore load x.yaml"} {
					if !strings.Contains(text, want) && (want != "same answers" || len(r.Candidates) > 1) {
						t.Errorf("%s: no %q\n%s", what, want, text)
					}
				}
			}
		}
	}
}

// All of the text begins with the verdict as well, and has the table of every query.
func TestAllOfTheText(t *testing.T) {
	r := crowd(4, 2, "model")
	text := strings.Join(screen(t, r, true), "\n")
	verdict, table := strings.Index(text, "Class "), strings.Index(text, "all queries together")
	if verdict < 0 || table < verdict || strings.Count(text, "Class ") != 4 {
		t.Errorf("the verdict is at %d, the table at %d\n%s", verdict, table, text)
	}
	for _, q := range r.Queries {
		if !strings.Contains(text, "\n  "+q.Name+" (") {
			t.Errorf("no table of %q\n%s", q.Name, text)
		}
	}
	if strings.Contains(text, "--all") {
		t.Errorf("all of the text says how to have all of it\n%s", text)
	}
}

// With one class and few models the screen has the figures of each, and the query that decides.
func TestScreenHasTheTables(t *testing.T) {
	r := crowd(1, 2, "model")
	text := strings.Join(screen(t, r, false), "\n")
	for _, want := range []string{"model 1 on store 0", "all queries together", "one post (90 %, p99 ≤ 500 ms)", "falls short", "on made, class memory"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q\n%s", want, text)
		}
	}
}
