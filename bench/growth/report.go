package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// A report is what was measured on one store.
type report struct {
	Store string `json:"store"`
	Calls int    `json:"calls"` // behind each median
	Sizes []size `json:"sizes"`
}

type size struct {
	Records int      `json:"records"`
	Figures []figure `json:"figures"`
}

// A figure is one that was measured at one size.
type figure struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Peak  uint64  `json:"peak_bytes,omitempty"` // of this program's objects meanwhile
}

// print writes a table of Markdown.
func (r *report) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n| |", r.Store)
	for _, s := range r.Sizes {
		fmt.Fprintf(&b, " %s |", thousands(s.Records))
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---|", len(r.Sizes)))
	for i, f := range r.Sizes[0].Figures {
		fmt.Fprintf(&b, "| %s, %s |", f.Name, f.Unit)
		for _, s := range r.Sizes {
			text := "" // a run that ended before
			if i < len(s.Figures) {
				text = show(&s.Figures[i])
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// show returns a figure, with the memory of work on many records.
func show(f *figure) string {
	text := thousands(int(f.Value + 0.5))
	if f.Value < 10 {
		text = fmt.Sprintf("%.2g", f.Value)
	}
	if f.Peak > 0 {
		text += fmt.Sprintf(", %d MiB", f.Peak>>20)
	}
	return text
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func writeJSON(path string, all []report) error {
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
