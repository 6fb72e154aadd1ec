package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// choice says which candidate is the best, and what it does.
func (p *page) choice(v *verdict) string {
	c := v.best()
	switch {
	case len(v.ranked) == 1:
		return p.alone(c)
	case v.open:
		return p.noVerdict(v.doubtful())
	case !c.meets():
		return fmt.Sprintf("None does what is asked. The nearest is %s: %s.", c.Name, p.shortfall(c))
	}
	others, unknown := 0, 0
	for _, o := range v.ranked[1:] {
		switch {
		case o.meets():
			others++
		case o.unknown():
			unknown++
		}
	}
	text := fmt.Sprintf("Take %s. %s", c.Name, p.metAll(c))
	switch {
	case others == 0 && unknown > 0:
		return text + "; no other is known to do that. Whether it is better than those is not known."
	case others == 0:
		return text + "; no other does that."
	case c.steadierThan(v.ranked[1]):
		return text + fmt.Sprintf("; %s does that by the median of its rounds alone: %s.", v.ranked[1].Name, atMost(v.ranked[1].oftenMissed()))
	case v.onTheWhole(1):
		second, x := "too close to call", v.means[1]
		if v.ratios[1].decides() {
			second = "ahead"
		}
		return text + fmt.Sprintf("; by the median %s %s is %s, but all its calls together take %.1f times as long (%s).", v.figureName(), v.ranked[1].Name, second, x.Times, sure(x))
	case v.disturbed(1) && v.ratios[1].decides():
		return text + fmt.Sprintf("; too close to call against %s by %s: other programs took more of the processors in its rounds; measure again on a quiet machine%s.", v.ranked[1].Name, v.figureName(), v.fewer())
	case v.close && v.ratios[1].same():
		return text + fmt.Sprintf("; no practical difference from %s by %s%s (%s).", v.ranked[1].Name, v.figureName(), v.fewer(), sure(v.ratios[1]))
	case v.close:
		return text + fmt.Sprintf("; too close to call against %s by %s%s%s.", v.ranked[1].Name, v.figureName(), v.fewer(), uneven(v.ratios[1]))
	}
	return text + fmt.Sprintf("; %s than %s (%s).", timesLess(v.ratios[1].Times, v.figureName()), v.ranked[1].Name, sure(v.ratios[1]))
}

// fewer says that bytes decided where the figure could not.
func (v *verdict) fewer() string {
	if a, b := v.ranked[0], v.ranked[1]; a.sameBytes(b) && a.size() < b.size() {
		return ", so the one with fewer bytes"
	}
	return ""
}

// uneven says what helps where the rounds differ so much that a difference that would matter may be chance.
func uneven(r Ratio) string {
	rounds := max(r.Rounds[0], r.Rounds[1])
	more := min(2*rounds, limit.MaxRounds)
	if math.IsNaN(r.Times) || math.Abs(r.Times-1) <= leastEffect || more <= rounds {
		return ""
	}
	return fmt.Sprintf("; its rounds give %.2f to %.2f times: let nothing else run, or say --rounds %d", r.Low, r.High, more)
}

// alone is the verdict on a candidate without others.
func (p *page) alone(c *candidate) string {
	switch {
	case c.unknown():
		return p.noVerdict(c)
	case c.meets() && len(p.verdicts) > 1:
		return fmt.Sprintf("Take %s, alone in its class. %s.", c.Name, p.metAll(c))
	case c.meets():
		return fmt.Sprintf("%s: %s.", c.Name, p.metAll(c))
	}
	return fmt.Sprintf("%s does not do what is asked: %s.", c.Name, p.shortfall(c))
}

// metAll says that all is met, and of what that is not true in each round.
func (p *page) metAll(c *candidate) string {
	var text string
	objectives := c.objectives()
	switch len(objectives) {
	case 0:
		return fmt.Sprintf("It carries %s/s%s; no objective was asked", format.Count(p.r.Rate), c.fellBehind())
	case 1:
		text = "The objective is met"
	case 2:
		text = "Both objectives are met"
	default:
		text = fmt.Sprintf("All %d objectives are met", len(c.objectives()))
	}
	var some []string
	for _, j := range c.objectives() {
		if j.Missed > 0 {
			some = append(some, j.String())
		}
	}
	if len(some) > 0 {
		text += ", but not in every round: " + atMost(some)
	}
	return text + c.fellBehind()
}

// fellBehind says in how many rounds a candidate fell behind.
func (c *candidate) fellBehind() string {
	n := c.roundsThat((*RoundResult).behind)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", though it fell behind in %d of %s", n, format.Plural(len(c.Rounds), "round"))
}

func timesLess(times float64, what string) string {
	if times < 1.2 {
		return fmt.Sprintf("%s %% less %s", format.Digits(100*(1-1/times)), what)
	}
	return fmt.Sprintf("%s times less %s", strings.TrimSuffix(fmt.Sprintf("%.1f", times), ".0"), what)
}

func sure(r Ratio) string {
	return fmt.Sprintf("95 %% sure: %.2f to %.2f times", r.Low, r.High)
}

// shortfall says why a candidate does not do what is asked.
func (p *page) shortfall(c *candidate) string {
	if c.State == stateSaturated {
		return fmt.Sprintf("it cannot carry %s/s%s", format.Count(p.r.Rate), p.why(c))
	}
	var parts, texts []string
	for _, j := range c.found(missed) {
		parts = append(parts, j.String())
	}
	if len(parts) > 0 {
		texts = append(texts, fmt.Sprintf("%d of %d objectives are missed: %s", len(parts), len(c.objectives()), atMost(parts)))
	}
	if late := len(c.found(lateMiss)); late > 0 {
		texts = append(texts, fmt.Sprintf("of %d more the clock may be the cause", late))
	}
	if stalled := len(c.found(stallMiss)); stalled > 0 {
		texts = append(texts, fmt.Sprintf("of %d more a stall is the cause", stalled))
	}
	if c.Failures > 0 {
		texts = append(texts, fmt.Sprintf("%s failed, the first: %s", format.Plural(c.Failures, "operation"), c.Failure))
	}
	if c.hangs() {
		texts = append(texts, fmt.Sprintf("some calls were not answered in %d of %s, until they were cut off", c.roundsThat((*RoundResult).unanswered), format.Plural(len(c.Rounds), "round")))
	}
	return strings.Join(texts, "; ") + p.why(c)
}

// why names what is known of the cause: queries that read every record, or many
// more rows than they return.
func (p *page) why(c *candidate) string {
	scans, rows := []string{}, 0.0
	for _, q := range c.Queries {
		if q.Scans {
			scans = append(scans, q.Name)
			rows = max(rows, q.RowsEach)
		}
	}
	switch len(scans) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; %q reads every record, %s rows a call", scans[0], format.Count(int(rows)))
	}
	return fmt.Sprintf("; %d queries read every record, %s rows a call", len(scans), format.Count(int(rows)))
}

// loser says how a candidate compares with the best one.
func (p *page) loser(v *verdict, i int, c *candidate) string {
	best, r := v.best(), v.ratios[i]
	var text string
	switch {
	case c.unknown():
		reason, _ := p.doubt(c)
		text = fmt.Sprintf("%s is not judged: %s.", c.Name, reason)
	case !c.meets():
		text = fmt.Sprintf("%s falls short: %s.", c.Name, p.shortfall(c))
	case best.steadierThan(c) && i > 1:
		text = fmt.Sprintf("%s does what is asked by the median of its rounds alone: %s.", c.Name, atMost(c.oftenMissed()))
	case best.steadierThan(c):
		text = fmt.Sprintf("%s does what is asked in most rounds.", c.Name)
	case i == 1 || math.IsNaN(r.Times):
		text = fmt.Sprintf("%s does what is asked, too.", c.Name)
	case r.decides():
		text = fmt.Sprintf("%s does what is asked, too, with %.1f times the %s.", c.Name, r.Times, v.figureName())
	case r.same():
		text = fmt.Sprintf("%s does what is asked, too; no practical difference by %s.", c.Name, v.figureName())
	default:
		text = fmt.Sprintf("%s does what is asked, too; too close to call by %s.", c.Name, v.figureName())
	}
	return text + p.bytesAgainst(best, c)
}

// bytesAgainst says how much more or less room a candidate needs than the best.
func (p *page) bytesAgainst(best, c *candidate) string {
	if best.RecordBytes < 0 || c.RecordBytes < 0 || best.size() == 0 || !best.sameBytes(c) {
		return ""
	}
	more := 100 * (float64(c.size())/float64(best.size()) - 1)
	switch {
	case more >= 1:
		return fmt.Sprintf(" It takes %s %% more bytes.", format.Digits(more))
	case more <= -1 && c.meets():
		return fmt.Sprintf(" It takes %s %% fewer bytes: take it where these matter more.", format.Digits(-more))
	case more <= -1:
		return fmt.Sprintf(" It takes %s %% fewer bytes.", format.Digits(-more))
	}
	return ""
}

// notAsked says what the run does not tell, and what its numbers are.
func (p *page) notAsked() string {
	asked := "the highest rate, "
	if slices.ContainsFunc(p.candidates, func(c *candidate) bool { return len(c.Steps) > 0 }) {
		asked = ""
	}
	faults := "faults"
	if slices.ContainsFunc(p.candidates, func(c *candidate) bool { return c.Endured != nil && c.Endured.None == "" }) {
		faults = "faults of servers"
	}
	text := "Not asked: " + asked + "more data, " + faults + ". Percentiles are the median of the rounds'."
	var whose, bytes []string
	for _, st := range p.r.Stores {
		if of := st.Name + " that of " + st.CPUOf; !slices.Contains(whose, of) {
			whose = append(whose, of)
		}
		if of := st.Name + ": " + st.Sizes; st.TellsSizes && !slices.Contains(bytes, of) {
			bytes = append(bytes, of)
		}
	}
	switch len(whose) {
	case 0:
	case 1:
		text += " CPU is that of " + p.r.Stores[0].CPUOf + "."
	default:
		text += " CPU: on " + strings.Join(whose, "; on ") + "."
	}
	if len(bytes) > 1 {
		text += " Bytes are each store's own account and not compared between stores. " + strings.Join(bytes, "; ") + "."
	}
	return text
}
