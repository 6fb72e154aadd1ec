package report

import (
	"strings"
	"unicode/utf8"
)

// table writes rows below each other: names to the left, numbers to the right, and
// notes behind them. A column without a title is left out. A title that makes the
// table wider than a page gets a line of its own.
func (p *page) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	last := len(rows[0]) - 1
	total := 2
	for _, w := range widths {
		total += w + 3
	}
	if total > width {
		p.b.WriteString("  " + rows[0][0] + "\n")
		rows[0][0], widths[0] = "", 0
		for _, row := range rows {
			widths[0] = max(widths[0], utf8.RuneCountInString(row[0]))
		}
	}
	for _, row := range rows {
		line := "  " + padded(row[0], -widths[0])
		for i := 1; i < last; i++ {
			if rows[0][i] != "" {
				line += "   " + padded(row[i], widths[i])
			}
		}
		p.b.WriteString(strings.TrimRight(line+"   "+row[last], " ") + "\n")
	}
	p.b.WriteString("\n")
}

// padded returns text with spaces before it or, for a negative width, behind.
func padded(text string, width int) string {
	space := strings.Repeat(" ", max(0, max(width, -width)-utf8.RuneCountInString(text)))
	if width < 0 {
		return text + space
	}
	return space + text
}

// paragraph writes text in lines that fit the page.
func (p *page) paragraph(text string) {
	for _, line := range wrapped(text, width-2) {
		p.b.WriteString("  " + line + "\n")
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
