package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/polystore/polystore/loadtest/internal/format"
)

const (
	width       = 100
	shownTables = 3  // queries that decide
	screenLines = 25 // of the first screen
	screenSays  = 12 // of these, for the verdict at most
	screenItems = 6  // of these, for checks and caveats at most
)

// Text returns all of the sheet: the verdict first, then why it can be believed, then the tables.
func (s *Sheet) Text() string {
	var l lines
	l.head(s)
	for i, v := range s.Verdicts {
		if i > 0 {
			l.empty()
		}
		l.paragraph(v.Text)
		for _, text := range v.Others {
			l.paragraph(text)
		}
	}
	if s.Across != "" {
		l.empty()
		l.paragraph(s.Across)
	}
	l.empty()
	l.storesOf(s)
	l.items(s.Checks)
	l.items(s.Findings)
	l.items(s.Caveats)
	for _, t := range append([]Table{s.Mix, s.Faults}, s.Queries...) {
		if len(t.Head) > 0 {
			l.empty()
			l.table(t)
		}
	}
	if s.Limits != "" {
		l.empty()
		l.paragraph(s.Limits)
	}
	return printable(l.String())
}

// Screen returns the most important of the sheet, in so few lines that they and some more fit a
// screen: the verdict, then the figures of the candidates, then what makes them believable or odd. Of
// each there is less where there is much.
func (s *Sheet) Screen(more int) string {
	room := screenLines - more
	var head, says, stores, tables lines
	head.head(s)
	stores.storesOf(s)
	sure := s.shortItems()
	says.says(s, min(screenSays, room-len(head)-len(sure)-2))
	if len(stores) > 2 {
		stores = nil // the classes are in the verdict
	}
	left := room - len(head) - len(says) - len(stores) - len(sure) - 1
	for n := len(s.Mix.Rows); n >= min(2, len(s.Mix.Rows)) && n > 0 && len(tables) == 0; n-- {
		var t lines
		t.empty()
		if t.table(s.bestRows(n)); len(t) <= left {
			tables, left = t, left-len(t)
		}
	}
	for _, at := range s.Deciding {
		var t lines
		t.empty()
		if t.table(s.Queries[at]); len(t) > left {
			break
		}
		tables, left = append(tables, t...), left-len(t)
	}
	all := slices.Concat(head, says, tables, lines{""}, stores, sure)
	return printable(all.String())
}

// says writes the verdicts in so many lines. What is said of others is left out first.
func (l *lines) says(s *Sheet, room int) {
	texts := make([]lines, len(s.Verdicts))
	others := make([]lines, len(s.Verdicts))
	total := 0
	for i, v := range s.Verdicts {
		texts[i].paragraph(v.Text)
		for _, text := range v.Others {
			others[i].paragraph(text)
		}
		total += len(texts[i])
	}
	for i := range texts {
		if total > room {
			texts[i] = texts[i].cut(max(1, room/len(texts)))
		} else if total += len(others[i]); total > room {
			total -= len(others[i])
			others[i] = nil
		}
	}
	for i := range texts {
		*l = append(*l, texts[i]...)
		if total <= room {
			*l = append(*l, others[i]...)
		}
	}
	*l = (*l)[:min(len(*l), max(room, 1))]
}

// shortItems returns the checks, and of each name of caveats and findings the first line.
func (s *Sheet) shortItems() lines {
	var out lines
	out.items(slices.DeleteFunc(slices.Clone(s.Checks), func(x Item) bool { return strings.HasPrefix(x.Name, "rate") })) // the head has it
	names := map[string]int{}
	list := slices.Concat(s.Caveats, s.Findings)
	for _, x := range list {
		names[x.Name]++
	}
	for _, x := range list {
		if names[x.Name] == 0 || len(out) == screenItems {
			continue
		}
		var one lines
		more := ""
		if n := names[x.Name]; n > 1 {
			more = fmt.Sprintf(" (and %d more)", n-1)
		}
		one.items([]Item{{x.Name, shortened(x.Text, width-17-len(more)) + more}})
		out = append(out, one...)
		names[x.Name] = 0
	}
	return out
}

// bestRows returns the table of all queries together with so many rows: the best of each class first,
// in the order of the table.
func (s *Sheet) bestRows(most int) Table {
	t := s.Mix
	if len(t.Rows) <= most {
		return t
	}
	keep := map[int]bool{}
	for i, row := range t.Rows {
		if len(keep) < most-1 && slices.ContainsFunc(s.Verdicts, func(v Statement) bool { return v.Best == row[0] }) {
			keep[i] = true
		}
	}
	for i := range t.Rows {
		if len(keep) < most-1 {
			keep[i] = true
		}
	}
	out := Table{Head: t.Head, Note: t.Note}
	for i, row := range t.Rows {
		if keep[i] {
			out.Rows = append(out.Rows, row)
		}
	}
	rest := make([]string, len(t.Head))
	rest[0] = "… " + format.Count(len(t.Rows)-len(keep)) + " more"
	out.Rows = append(out.Rows, rest)
	return out
}

// printable returns text with dots for control characters, which an error of a store may have.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) {
			return '·'
		}
		return r
	}, text)
}
