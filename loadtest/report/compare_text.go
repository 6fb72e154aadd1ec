package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// WriteText writes what became better or worse, the most important first.
func (c *Comparison) WriteText(w io.Writer) error {
	var l lines
	worse, better := c.pick((*Change).Worse), c.pick((*Change).Better)
	l.paragraph(c.verdict(len(worse), len(better)))
	l.listed("wrong answers", c.Wrong)
	l.listed("not comparable", c.Apart)
	l.listed("missed now", c.Lost)
	l.listed("not known", c.Unknown)
	l.listed("met now", c.Won)
	for _, t := range []Table{changes("worse", worse), changes("better", better)} {
		if len(t.Rows) > 0 {
			l.empty()
			l.table(t)
		}
	}
	if len(c.Others) > 0 {
		l.empty()
	}
	l.listed("other", c.Others)
	if len(c.Changes) > 0 {
		l.empty()
		l.paragraph("Times are medians of the rounds: p50 of wait and service, higher percentiles of the response, or of the service where the clock was late. A difference counts when it is more than 5 % and not by chance: Mann-Whitney over the rounds, p ≤ 0.05 for all queries of a model together (Holm). What differs between two runs beside what was changed, as what else the machine did, is in no interval.")
	}
	_, err := io.WriteString(w, printable(l.String()))
	return err
}

func (c *Comparison) verdict(worse, better int) string {
	what := fmt.Sprintf("%s worse, %s better, of %s", format.Count(worse), format.Count(better), format.Plural(len(c.Changes), "figure"))
	switch {
	case len(c.Wrong) > 0:
		return "WRONG ANSWERS: nothing else counts."
	case len(c.Apart) > 0:
		return "NOT COMPARABLE: what differs is not what was changed alone."
	case c.Exit == Missed && len(c.Lost) > 0:
		return fmt.Sprintf("REGRESSION: %s met before and missed now; %s.", format.Plural(len(c.Lost), "demand"), what)
	case c.Exit == Missed:
		return fmt.Sprintf("REGRESSION: %s.", what)
	case c.Exit == Invalid:
		return fmt.Sprintf("NOT KNOWN: of some models it is not known what they do; of the others, %s.", what)
	}
	return fmt.Sprintf("NO REGRESSION: %s.", what)
}

// pick returns the changes that are so, the largest first.
func (c *Comparison) pick(are func(*Change) bool) (list []Change) {
	for i := range c.Changes {
		if are(&c.Changes[i]) {
			list = append(list, c.Changes[i])
		}
	}
	slices.SortStableFunc(list, func(a, b Change) int {
		x, y := max(a.Ratio.Times, 1/a.Ratio.Times), max(b.Ratio.Times, 1/b.Ratio.Times)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return list
}

// changes returns a table of changes.
func changes(title string, list []Change) Table {
	t := Table{Head: []string{title, "figure", "before", "after", "times", "95 % sure", ""}}
	for _, x := range list {
		name := x.Candidate
		if x.Query != "" {
			name += ": " + x.Query
		}
		t.Rows = append(t.Rows, []string{name, x.Figure, format.Duration(x.Before), format.Duration(x.After), fmt.Sprintf("%.2f", x.Ratio.Times),
			fmt.Sprintf("%.2f to %.2f", x.Ratio.Low, x.Ratio.High), ""})
	}
	return t
}

func (l *lines) listed(name string, texts []string) {
	var list []Item
	for _, text := range texts {
		list = append(list, Item{name, strings.TrimSpace(text)})
	}
	l.items(list)
}
