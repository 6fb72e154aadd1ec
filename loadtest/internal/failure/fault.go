// Package failure has the errors that end a run: faults of a file with their places, wrong answers, and
// a store that was lost. What was found comes in; errors that say it go out.
package failure

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Fault is one mistake in a file, with its place and what would be right.
type Fault struct {
	File   string
	Line   int // from 1; 0 when the fault is about the whole file
	Column int // from 1, in characters; 0 when it is about the whole line
	Source string
	Text   string
}

// String returns place and text and, where it is known, the line with a mark
// under the place.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	if f.Column > 0 {
		fmt.Fprintf(&b, ":%d", f.Column)
	}
	b.WriteString(": " + f.Text)
	if f.Source != "" {
		b.WriteString("\n" + f.excerpt())
	}
	return b.String()
}

const excerptWidth = 100 // characters of a line that are shown

// excerpt returns the line, or the part of it around the column, and the mark.
func (f Fault) excerpt() string {
	line := []rune(strings.ToValidUTF8(f.Source, "�"))
	at := min(max(f.Column-1, 0), len(line))
	from := max(0, at-excerptWidth/2)
	to := min(len(line), from+excerptWidth)
	for i, r := range line {
		if r < ' ' || r == utf8.RuneError || r == 0x7f {
			line[i] = '·'
		}
	}
	head := fmt.Sprintf("%5d | ", f.Line)
	text := head + string(line[from:to])
	if f.Column > 0 {
		text += "\n" + strings.Repeat(" ", len(head)-2) + "| " + strings.Repeat(" ", at-from) + "^"
	}
	return text
}

// Faults are all mistakes that were found, in the order of their places. It is
// an error.
type Faults []Fault

// Error returns the faults, one below the other.
func (fs Faults) Error() string {
	parts := make([]string, len(fs))
	for i, f := range fs {
		parts[i] = f.String()
	}
	return strings.Join(parts, "\n")
}

// AsError returns the faults in order, or nil when there are none.
func AsError(fs Faults) error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b Fault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return fs
}
