package report

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/polystore/polystore/loadtest/internal/format"
)

// A page is the text report of a result: verdicts, and the numbers they rest on.
type page struct {
	r          *Result
	candidates []*candidate
	verdicts   []*verdict
	b          strings.Builder
}

const (
	width       = 100
	shownTables = 3 // queries that get a table: those that decide
)

func (p *page) text() string {
	p.write()
	return printable(p.b.String())
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

func (p *page) write() {
	p.head()
	p.checks()
	if p.r.lost() && p.measured() == 0 {
		p.ended()
		return
	}
	for _, at := range p.deciding() {
		p.queryTable(at)
	}
	if more := len(p.r.Queries) - min(shownTables, len(p.r.Queries)); more > 0 {
		name := format.Plural(more, "more query")
		fmt.Fprintf(&p.b, "  … %s in the result\n\n", strings.Replace(name, "1 more", "one more", 1))
	}
	p.mixTable()
	p.knees()
	if p.r.lost() {
		p.ended()
		return
	}
	for _, v := range p.verdicts {
		p.verdict(v)
		if len(p.verdicts) > 1 {
			p.b.WriteString("\n")
		}
	}
	p.across()
	p.paragraph(p.notAsked())
}

// head says what was measured, and on what.
func (p *page) head() {
	var parts []string
	for _, d := range p.r.Data {
		parts = append(parts, format.Count(d.Records)+" "+d.Collection)
	}
	writes := 0.0
	for _, q := range p.r.Queries {
		if q.Writes {
			writes += q.Weight
		}
	}
	queries := format.Plural(len(p.r.Queries), "query")
	fmt.Fprintf(&p.b, "%s   %s, %s (%s writes), %s\n", p.r.Workload, format.Joined(parts), queries, format.Percent(writes), format.Plural(len(p.r.Models), "model"))
	for _, st := range p.r.Stores {
		name := strings.TrimRight(st.Name+" "+st.Version, " ")
		fmt.Fprintf(&p.b, "  on %s, class %s (%s)\n", name, st.Durability, st.Setting)
	}
	for _, c := range p.r.NotThere {
		p.paragraph(fmt.Sprintf("not there: %s: %s", c.Name, c.Reason))
	}
	p.b.WriteString("\n")
}

// checks says why the numbers can be believed.
func (p *page) checks() {
	if len(p.candidates) > 1 {
		fmt.Fprintf(&p.b, "  same answers   %s agree on %s sampled calls, and on all records after them\n", format.Plural(len(p.candidates), "candidate"), format.Count(p.r.Compared))
	}
	if !p.r.lost() {
		p.b.WriteString("  indexes        agree with their records after the run\n")
	}
	fmt.Fprintf(&p.b, "  %-14s %s of %v, interleaved; seed %d\n", "rate "+format.Count(p.r.Rate)+"/s", format.Plural(p.r.Rounds, "round"), p.r.Round, p.r.Seed)
	p.spreads()
	p.troubles()
	p.b.WriteString("\n")
}

// troubles tells what makes numbers odd: stalls of a store, and operations that did nothing.
func (p *page) troubles() {
	var stalls, nothing []string
	for _, c := range p.candidates {
		for i := range c.Rounds {
			if r := &c.Rounds[i]; r.stalled() {
				stalls = append(stalls, fmt.Sprintf("%s: nothing was answered for %s in round %d, while %s waited", c.Name, format.Duration(r.Stall), r.Number, format.Plural(r.Stalled, "call")))
			}
		}
	}
	for at := range p.r.Queries {
		worst := effect{query: &p.r.Queries[at]}
		for _, c := range p.candidates {
			if e := c.effect(at); e.nothing*max(worst.ended, 1) > worst.nothing*e.ended {
				worst = e
			}
		}
		if worst.told() {
			nothing = append(nothing, worst.String())
		}
	}
	p.listed("stalls", stalls)
	p.listed("no effect", nothing)
}

const mostListed = 8 // of one trouble

// listed writes texts below each other, with a title before the first.
func (p *page) listed(title string, texts []string) {
	if more := len(texts) - mostListed; more > 0 {
		texts = append(texts[:mostListed:mostListed], fmt.Sprintf("and %d more in the result", more))
	}
	for _, text := range texts {
		lines := wrapped(text, width-17)
		for _, line := range lines {
			fmt.Fprintf(&p.b, "  %-14s %s\n", title, line)
			title = ""
		}
	}
}

// measured returns how many rounds of candidates count.
func (p *page) measured() int {
	n := 0
	for _, c := range p.candidates {
		n += len(c.Rounds)
	}
	return n
}

// ended says why there is no verdict.
func (p *page) ended() {
	p.paragraph(fmt.Sprintf("No verdict: %s.", p.r.Ended))
	if n := p.measured(); n > 0 {
		p.paragraph(fmt.Sprintf("Above is what was measured before, in %s of %s.", format.Plural(n, "round"), format.Count(p.r.Rounds*len(p.candidates))))
	} else {
		p.paragraph("Nothing was measured before.")
	}
}
