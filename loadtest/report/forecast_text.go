package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// WriteText writes the forecast: for each model the objectives that it will miss, the costs of all queries together, and
// those of queries that grow.
func (f *Forecast) WriteText(w io.Writer) error {
	var l lines
	last := f.Sizes[len(f.Sizes)-1]
	l.paragraph(fmt.Sprintf("%s: a forecast for %s of %s, %s times the largest of %s",
		f.Workload, format.Plural(f.Size, "record"), f.Collection, format.Digits(float64(f.Size)/float64(last)), format.Plural(len(f.Sizes), "result")))
	for i := range f.Candidates {
		g := &f.Candidates[i]
		l.empty()
		l.paragraph(g.Name + ": " + g.holds())
		l.table(f.table(g))
	}
	l.empty()
	l.paragraph("Costs are taken to grow as a power of the records, by least squares. \"off\" is how much the cost at the largest size differs from what the smaller ones forecast for it: the forecast is hardly better than that. It knows nothing of what happens where data no longer fit into a cache, a store splits its data, or a disk is full: measure at such a size.")
	_, err := io.WriteString(w, printable(l.String()))
	return err
}

// holds says what becomes of the objectives.
func (g *Growing) holds() string {
	var missed, unknown []string
	for _, h := range g.Objectives {
		switch {
		case h.Unknown != "":
			unknown = append(unknown, h.Query+" ("+h.Objective+", "+h.Unknown+")")
		case h.From > 0:
			missed = append(missed, fmt.Sprintf("%s (%s, from %s records on)", h.Query, h.Objective, about(h.From)))
		}
	}
	var text string
	switch n := len(g.Objectives); {
	case n == 0:
		return "nothing is asked of it."
	case len(missed)+len(unknown) == 0 && n == 1:
		text = "its objective holds."
	case len(unknown) == n:
		text = "whether its objectives hold cannot be told."
	case len(missed)+len(unknown) == 0:
		text = fmt.Sprintf("all %d objectives hold.", n)
	case len(missed) == 0:
		text = fmt.Sprintf("%d of %d objectives hold.", n-len(unknown), n)
	default:
		text = fmt.Sprintf("%d of %d objectives will be missed: %s.", len(missed), n, format.Joined(some(missed)))
	}
	if len(unknown) > 0 {
		text += " Not known: " + format.Joined(some(unknown)) + "."
	}
	return text
}

// some returns the first of many.
func some(list []string) []string {
	const most = 4
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most-1]), fmt.Sprintf("%d more", len(list)-most+1))
}

// about returns a number of records with two digits that count.
func about(n int) string {
	step := 1
	for n/step >= 100 {
		step *= 10
	}
	return format.Count(n / step * step)
}

func (f *Forecast) table(g *Growing) Table {
	t := Table{Head: []string{"all queries together"}}
	for _, n := range f.Sizes {
		t.Head = append(t.Head, format.Count(n))
	}
	t.Head = append(t.Head, "at "+format.Count(f.Size), "grows as", "off")
	still := 0
	for _, x := range g.Costs {
		if x.Query != "" && x.Exponent < flat { // what falls is noise, or a record that is found sooner
			still++
			continue
		}
		name := x.Figure
		if x.Query != "" {
			name = x.Query + ": " + x.Figure
		}
		row := []string{name}
		for _, y := range x.Measured {
			row = append(row, x.Unit.text(y))
		}
		t.Rows = append(t.Rows, append(row, x.Unit.text(x.Forecast), x.growth(), x.off()))
	}
	if still > 0 {
		t.Note = format.Plural(still, "other figure") + " of queries hardly grow"
	}
	return t
}

func (x *Growth) growth() string {
	if math.Abs(x.Exponent) < flat/2 {
		return "hardly"
	}
	return "N^" + strings.TrimSuffix(fmt.Sprintf("%.1f", x.Exponent), ".0")
}

func (x *Growth) off() string {
	if x.Off == 0 {
		return "–"
	}
	percent := math.Round(100 * (x.Off - 1))
	if percent == 0 {
		return "0 %" // and not -0
	}
	return fmt.Sprintf("%+.0f %%", percent)
}

func (u Unit) text(y float64) string {
	switch u {
	case Nanoseconds:
		return format.Duration(time.Duration(math.Round(y)))
	case Bytes:
		for _, unit := range []struct {
			name string
			size float64
		}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
			if y >= unit.size {
				return format.Digits(y/unit.size) + " " + unit.name
			}
		}
		return format.Digits(y) + " B"
	}
	if y >= 100 {
		return format.Count(int(y + 0.5))
	}
	return format.Digits(y)
}
