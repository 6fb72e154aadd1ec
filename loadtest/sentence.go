package loadtest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// verdict says what to take in one class of durability, and why.
func (s *screen) verdict(v *verdict) {
	text := s.choice(v)
	if len(s.verdicts) > 1 || v.class == driver.UnknownDurability {
		text = v.heading() + ": " + text
	}
	s.paragraph(text)
	for i, c := range v.ranked {
		if i > 0 || v.open && len(v.ranked) > 1 {
			s.paragraph(s.loser(v, i, c))
		}
	}
}

// choice says which candidate is the best, and what it does.
func (s *screen) choice(v *verdict) string {
	c := v.best()
	switch {
	case len(v.ranked) == 1:
		return s.alone(c)
	case v.open:
		return s.noVerdict(v.doubtful())
	case !c.meets():
		return fmt.Sprintf("None does what is asked. The nearest is %s: %s.", c.label, s.shortfall(c))
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
	text := fmt.Sprintf("Take %s. %s", c.label, s.metAll(c))
	switch {
	case others == 0 && unknown > 0:
		return text + "; no other is known to do that."
	case others == 0:
		return text + "; no other does that."
	case v.close:
		return text + fmt.Sprintf("; too close to call against %s by %s%s.", v.ranked[1].label, v.figureName(), v.fewer())
	}
	return text + fmt.Sprintf("; %s than %s (%s).", timesLess(v.ratios[1].Times, v.figureName()), v.ranked[1].label, sure(v.ratios[1]))
}

// fewer says that bytes decided where the figure could not.
func (v *verdict) fewer() string {
	if a, b := v.ranked[0], v.ranked[1]; a.sameBytes(b) && a.size() < b.size() {
		return ", so the one with fewer bytes"
	}
	return ""
}

// alone is the verdict on a candidate without others.
func (s *screen) alone(c *candidate) string {
	switch {
	case c.unknown():
		return s.noVerdict(c)
	case c.meets() && len(s.verdicts) > 1:
		return fmt.Sprintf("Take %s, alone in its class. %s.", c.label, s.metAll(c))
	case c.meets():
		return fmt.Sprintf("%s: %s.", c.label, s.metAll(c))
	}
	return fmt.Sprintf("%s does not do what is asked: %s.", c.label, s.shortfall(c))
}

// metAll says that all is met, and of what that is not true in each round.
func (s *screen) metAll(c *candidate) string {
	var text string
	switch len(c.objectives) {
	case 0:
		return fmt.Sprintf("It carries %s/s%s; no objective was asked", showCount(s.r.w.Rate), c.fellBehind())
	case 1:
		text = "The objective is met"
	case 2:
		text = "Both objectives are met"
	default:
		text = fmt.Sprintf("All %d objectives are met", len(c.objectives))
	}
	var some []string
	for _, j := range c.objectives {
		if j.missedRounds > 0 {
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
	n := c.roundsThat((*round).behind)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", though it fell behind in %d of %s", n, plural(len(c.rounds), "round"))
}

// figureName returns what candidates are compared by.
func (v *verdict) figureName() string {
	if v.byCPU {
		return "CPU for the mix"
	}
	return "time for the mix"
}

func timesLess(times float64, what string) string {
	if times < 1.2 {
		return fmt.Sprintf("%s %% less %s", digits(100*(1-1/times)), what)
	}
	return fmt.Sprintf("%s times less %s", strings.TrimSuffix(fmt.Sprintf("%.1f", times), ".0"), what)
}

func sure(r ratio) string {
	return fmt.Sprintf("95 %% sure: %.2f to %.2f times", r.Low, r.High)
}

// shortfall says why a candidate does not do what is asked.
func (s *screen) shortfall(c *candidate) string {
	if c.state == stateSaturated {
		return fmt.Sprintf("it cannot carry %s/s%s", showCount(s.r.w.Rate), s.why(c))
	}
	var parts, texts []string
	for _, j := range c.found(missed) {
		parts = append(parts, j.String())
	}
	if len(parts) > 0 {
		texts = append(texts, fmt.Sprintf("%d of %d objectives are missed: %s", len(parts), len(c.objectives), atMost(parts)))
	}
	if late := len(c.found(lateMiss)); late > 0 {
		texts = append(texts, fmt.Sprintf("of %d more the clock may be the cause", late))
	}
	if stalled := len(c.found(stallMiss)); stalled > 0 {
		texts = append(texts, fmt.Sprintf("of %d more a stall is the cause", stalled))
	}
	if c.failures > 0 {
		texts = append(texts, fmt.Sprintf("%s failed, the first: %s", plural(c.failures, "operation"), c.failure))
	}
	return strings.Join(texts, "; ") + s.why(c)
}

// why names what is known of the cause: queries that read every record, or many
// more rows than they return.
func (s *screen) why(c *candidate) string {
	scans, rows := []string{}, 0.0
	for at, q := range s.r.w.queries {
		if c.scans[at] {
			scans = append(scans, q.name)
			rows = max(rows, c.probes[at].each.rows)
		}
	}
	switch len(scans) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; %q reads every record, %s rows a call", scans[0], showCount(int(rows)))
	}
	return fmt.Sprintf("; %d queries read every record, %s rows a call", len(scans), showCount(int(rows)))
}

// loser says how a candidate compares with the best one.
func (s *screen) loser(v *verdict, i int, c *candidate) string {
	best, r := v.best(), v.ratios[i]
	var text string
	switch {
	case c.unknown():
		reason, _ := s.doubt(c)
		text = fmt.Sprintf("%s is not judged: %s.", c.label, reason)
	case !c.meets():
		text = fmt.Sprintf("%s falls short: %s.", c.label, s.shortfall(c))
	case i == 1 || math.IsNaN(r.Times):
		text = fmt.Sprintf("%s does what is asked, too.", c.label)
	case r.clear():
		text = fmt.Sprintf("%s does what is asked, too, with %.1f times the %s.", c.label, r.Times, v.figureName())
	default:
		text = fmt.Sprintf("%s does what is asked, too; too close to call by %s.", c.label, v.figureName())
	}
	return text + s.bytesAgainst(best, c)
}

// bytesAgainst says how much more or less room a candidate needs than the best.
func (s *screen) bytesAgainst(best, c *candidate) string {
	if best.records < 0 || c.records < 0 || best.size() == 0 || !best.sameBytes(c) {
		return ""
	}
	more := 100 * (float64(c.size())/float64(best.size()) - 1)
	switch {
	case more >= 1:
		return fmt.Sprintf(" It takes %s %% more bytes.", digits(more))
	case more <= -1 && c.meets():
		return fmt.Sprintf(" It takes %s %% fewer bytes: take it where these matter more.", digits(-more))
	case more <= -1:
		return fmt.Sprintf(" It takes %s %% fewer bytes.", digits(-more))
	}
	return ""
}

// notAsked says what the run does not tell, and what its numbers are.
func (s *screen) notAsked() string {
	text := "Not asked: the highest rate, more data, faults. Percentiles are the median of the rounds'." + s.marks()
	var whose, bytes []string
	for _, st := range s.r.stores {
		if of := st.facts.Name + " that of " + st.cpuOf(); !slices.Contains(whose, of) {
			whose = append(whose, of)
		}
		if of := st.facts.Name + ": " + st.facts.Sizes.Reason; st.facts.Sizes.Has && !slices.Contains(bytes, of) {
			bytes = append(bytes, of)
		}
	}
	switch len(whose) {
	case 0:
	case 1:
		text += " CPU is that of " + s.r.stores[0].cpuOf() + "."
	default:
		text += " CPU: on " + strings.Join(whose, "; on ") + "."
	}
	if len(bytes) > 1 {
		text += " Bytes are each store's own account and not compared between stores. " + strings.Join(bytes, "; ") + "."
	}
	return text
}
