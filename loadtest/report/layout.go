package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// lines are those of a text.
type lines []string

func (l *lines) String() string { return strings.Join(*l, "\n") + "\n" }

func (l *lines) empty() { *l = append(*l, "") }

// cut returns at most so many lines. The last one tells that there were more.
func (l lines) cut(most int) lines {
	if len(l) <= most {
		return l
	}
	out := slices.Clone(l[:most])
	out[most-1] += " …"
	return out
}

// head writes what the sheet is of.
func (l *lines) head(s *Sheet) {
	*l = append(*l, fmt.Sprintf("%s   %s; %s", s.Title, s.About, s.Pace), "")
}

// storesOf writes what was measured on.
func (l *lines) storesOf(s *Sheet) {
	for _, text := range s.Stores {
		*l = append(*l, "  on "+text)
	}
}

// table writes rows below each other: names to the left, numbers to the right, and notes behind them. A
// title that makes the table wider than a page gets a line of its own.
func (l *lines) table(t Table) {
	rows := append([][]string{slices.Clone(t.Head)}, t.Rows...)
	widths := make([]int, len(t.Head))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	last := len(t.Head) - 1
	total := 2
	for _, w := range widths {
		total += w + 3
	}
	if total > width {
		*l = append(*l, "  "+rows[0][0])
		rows[0][0], widths[0] = "", 0
		for _, row := range rows {
			widths[0] = max(widths[0], utf8.RuneCountInString(row[0]))
		}
	}
	for _, row := range rows {
		line := "  " + padded(row[0], -widths[0])
		for i := 1; i < last; i++ {
			line += "   " + padded(row[i], widths[i])
		}
		*l = append(*l, strings.TrimRight(line+"   "+row[last], " "))
	}
	if t.Note != "" {
		*l = append(*l, "  "+t.Note)
	}
}

// padded returns text with spaces before it or, for a negative width, behind.
func padded(text string, width int) string {
	space := strings.Repeat(" ", max(0, max(width, -width)-utf8.RuneCountInString(text)))
	if width < 0 {
		return text + space
	}
	return space + text
}

const mostListed = 8 // items of one name

// items writes texts below each other, those of one name with it before the first.
func (l *lines) items(list []Item) {
	for len(list) > 0 {
		name := list[0].Name
		n := slices.IndexFunc(list, func(x Item) bool { return x.Name != name })
		if n < 0 {
			n = len(list)
		}
		some := list[:n]
		if more := n - mostListed; more > 0 {
			some = append(slices.Clone(some[:mostListed]), Item{name, fmt.Sprintf("and %s more in the result", format.Count(more))})
		}
		title := name
		for _, x := range some {
			for _, line := range wrapped(x.Text, width-17) {
				*l = append(*l, fmt.Sprintf("  %-14s %s", title, line))
				title = ""
			}
		}
		list = list[n:]
	}
}

// paragraph writes text in lines that fit the page.
func (l *lines) paragraph(text string) {
	for _, line := range wrapped(text, width-2) {
		*l = append(*l, "  "+line)
	}
}

// wrapped returns text in lines of at most so many characters, unless a word is longer.
func wrapped(text string, most int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+utf8.RuneCountInString(word)+1 > most {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// shortened returns the text in at most so many characters, on one line.
func shortened(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:most-1]), " ,;:") + "…"
}
