package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/repo/driver"
)

// A Sheet is a result in words and tables. The text, the Markdown and the page of a result are made of
// one, so all say the same.
type Sheet struct {
	Title    string
	About    string      // the data, the queries and the models
	Pace     string      // the rate, the rounds and the seed
	Stores   []string    // what was measured on
	Verdicts []Statement // one for each class of durability, or why there is none
	Across   string      // what the classes mean, where there are several
	Checks   []Item      // why the numbers can be believed
	Caveats  []Item      // what makes them odd
	Findings []Item      // what was found beside the verdict: highest rates, partitions
	Mix      Table       // all queries together
	Faults   Table       // of the network, where there were some
	Queries  []Table     // in their order
	Deciding []int       // the queries that tell the candidates apart, the first decides most
	Limits   string      // what the run does not tell, and what its numbers are
}

// A Statement is a verdict in words.
type Statement struct {
	Text   string
	Others []string // what is said of the other candidates
	Best   string   // the candidate that the verdict names first
	Met    bool
}

// An Item is a text under a name. Items of one name stand together.
type Item struct{ Name, Text string }

// A Table has a head, in which the first cell is its title, and a row for each candidate. The last
// column has notes and no title.
type Table struct {
	Head []string
	Rows [][]string
	Note string // what its marks mean
}

// Sheet returns the result in words and tables. The result is one that was judged.
func (r *Result) Sheet() *Sheet {
	candidates := candidatesOf(r)
	p := &page{r: r, candidates: candidates, verdicts: decide(candidates)}
	return p.sheet()
}

// A page makes the sheet of a result.
type page struct {
	r          *Result
	candidates []*candidate
	verdicts   []*verdict
}

func (p *page) sheet() *Sheet {
	s := &Sheet{Title: p.r.Workload, About: p.about(), Stores: p.stores(), Checks: p.checks(), Caveats: p.caveats()}
	s.Pace = fmt.Sprintf("%s/s, %s of %v, seed %d", format.Count(p.r.Rate), format.Plural(p.r.Rounds, "round"), p.r.Round, p.r.Seed)
	if p.r.lost() && p.measured() == 0 {
		s.Verdicts = p.ended()
		return s
	}
	s.Findings = slices.Concat(p.endured(), p.knees(), p.spreads())
	s.Mix, s.Faults = p.mixTable(), p.faultTable()
	for at := range p.r.Queries {
		s.Queries = append(s.Queries, p.queryTable(at))
	}
	s.Deciding = p.deciding()
	if p.r.lost() {
		s.Verdicts = p.ended()
		return s
	}
	if p.r.apart() {
		s.Verdicts = p.r.unmerged()
		return s
	}
	for _, v := range p.verdicts {
		s.Verdicts = append(s.Verdicts, p.statement(v))
	}
	s.Across, s.Limits = p.across(), p.notAsked()
	return s
}

// about says what was measured.
func (p *page) about() string {
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
	return fmt.Sprintf("%s, %s (%s writes), %s", format.Joined(parts), format.Plural(len(p.r.Queries), "query"), format.Percent(writes), format.Plural(len(p.r.Models), "model"))
}

func (p *page) stores() (list []string) {
	for _, st := range p.r.Stores {
		name := strings.TrimRight(st.Name+" "+st.Version, " ")
		if text := fmt.Sprintf("%s, class %s (%s)", name, st.Durability, st.Setting); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// checks says why the numbers can be believed.
func (p *page) checks() (list []Item) {
	list = append(list, p.r.sharedBy()...)
	if len(p.candidates) > 1 && !p.r.Wrong && p.r.compares() {
		list = append(list, Item{"same answers", fmt.Sprintf("%s agree on %s sampled calls, and on all records after them", format.Plural(len(p.candidates), "candidate"), format.Count(p.r.Compared))})
	}
	if text := p.checked(); text != "" {
		list = append(list, Item{"checked", text})
	}
	if !p.r.lost() && p.r.compares() {
		list = append(list, Item{"indexes", "agree with their records after the run"})
	}
	if p.r.Trace != "" {
		list = append(list, Item{"trace", p.r.Trace})
	}
	list = append(list, p.took()...)
	return append(list, Item{"rate " + format.Count(p.r.Rate) + "/s", fmt.Sprintf("%s of %v, interleaved; seed %d", format.Plural(p.r.Rounds, "round"), p.r.Round, p.r.Seed)})
}

// caveats tells what makes numbers odd: models that are not there, stalls of a store, and operations
// that did nothing.
func (p *page) caveats() (list []Item) {
	for _, c := range p.r.NotThere {
		list = append(list, Item{"not there", c.Name + ": " + c.Reason})
	}
	list = append(list, p.noFault()...)
	for _, c := range p.candidates {
		for i := range c.Rounds {
			if r := &c.Rounds[i]; r.stalled() {
				list = append(list, Item{"stalls", fmt.Sprintf("%s: nothing was answered for %s in round %d, while %s waited", c.Name, format.Duration(r.Stall), r.Number, format.Plural(r.Stalled, "call"))})
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
			list = append(list, Item{"no effect", worst.String()})
		}
	}
	return list
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
func (p *page) ended() []Statement {
	s := Statement{Text: fmt.Sprintf("No verdict: %s.", p.r.Ended), Others: []string{"Nothing was measured before."}}
	if n := p.measured(); n > 0 {
		s.Others[0] = fmt.Sprintf("Below is what was measured before, in %s of %s.", format.Plural(n, "round"), format.Count(p.r.Rounds*len(p.candidates)))
	}
	return []Statement{s}
}

// statement says what to take in one class of durability, and why.
func (p *page) statement(v *verdict) Statement {
	s := Statement{Text: p.choice(v), Best: v.best().Name, Met: v.best().meets()}
	if len(p.verdicts) > 1 || v.class == driver.UnknownDurability {
		s.Text = v.heading() + ": " + s.Text
	}
	for i, c := range v.ranked {
		if i > 0 || v.open && len(v.ranked) > 1 {
			s.Others = append(s.Others, p.loser(v, i, c))
		}
	}
	return s
}

// narrow returns the table without columns that have no title, but for the first and the last.
func (t Table) narrow() Table {
	last := len(t.Head) - 1
	drop := func(row []string) []string {
		var out []string
		for i, cell := range row {
			if i == 0 || i == last || t.Head[i] != "" {
				out = append(out, cell)
			}
		}
		return out
	}
	out := Table{Head: drop(t.Head), Note: t.Note}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, drop(row))
	}
	return out
}

// marked returns the table with an explanation of the marks that it has.
func (t Table) marked() Table {
	has := func(mark string) bool {
		return slices.ContainsFunc(t.Rows, func(row []string) bool {
			return slices.ContainsFunc(row[1:len(row)-1], func(cell string) bool { return strings.HasPrefix(cell, mark) })
		})
	}
	var parts []string
	if has(fewMark) {
		parts = append(parts, "~ is from too few calls")
	}
	if has(cutMark) {
		parts = append(parts, "> from calls that were cut off and would have taken longer")
	}
	t.Note = strings.Join(parts, "; ")
	return t
}
