package loadtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/polystore/polystore/repo/driver"
)

// sameClass reports whether candidates on both stores can be ranked against each
// other: an acknowledged write survives the same. Of a store that does not tell that
// nothing is known, so it is compared with itself alone.
func sameClass(a, b *store) bool {
	return a.facts.Durability == b.facts.Durability && a.facts.Delay == b.facts.Delay && (a.facts.Durability != driver.UnknownDurability || a == b)
}

// classes returns the candidates by class of durability, the strongest class first
// and unknown ones last. Of delayed ones the one with the least delay is the strongest.
func classes(candidates []*candidate) []*verdict {
	var verdicts []*verdict
	for _, c := range candidates {
		i := slices.IndexFunc(verdicts, func(v *verdict) bool { return sameClass(v.ranked[0].store, c.store) })
		if i < 0 {
			i, verdicts = len(verdicts), append(verdicts, &verdict{class: c.store.facts.Durability, delay: c.store.facts.Delay})
		}
		verdicts[i].ranked = append(verdicts[i].ranked, c)
	}
	slices.SortStableFunc(verdicts, func(a, b *verdict) int {
		return cmp.Or(cmp.Compare(b.class, a.class), cmp.Compare(a.delay, b.delay))
	})
	return verdicts
}

// stores returns the stores of a class.
func (v *verdict) stores() []*store {
	var list []*store
	for _, c := range v.ranked {
		if !slices.Contains(list, c.store) {
			list = append(list, c.store)
		}
	}
	slices.SortFunc(list, func(a, b *store) int { return a.at - b.at })
	return list
}

// heading names a class, the stores in it, and the settings that put them there.
func (v *verdict) heading() string {
	var parts []string
	for _, s := range v.stores() {
		parts = append(parts, fmt.Sprintf("%s, %s", s.facts.Name, s.facts.Setting))
	}
	return fmt.Sprintf("Class %s (%s)", v.class, strings.Join(parts, "; "))
}

// across says what the classes mean, why they are not ranked against each other,
// and what the stronger one costs.
func (s *screen) across() {
	if len(s.verdicts) < 2 {
		return
	}
	var parts []string
	for _, v := range s.verdicts {
		if text := "in class " + v.class.String() + " " + v.survives(); !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	s.paragraph("An acknowledged write survives " + strings.Join(parts, "; ") +
		". A class that promises less may be faster for that alone, so the classes are not ranked against each other: first choose the class, then what to take in it." + s.price())
}

func (v *verdict) survives() string {
	switch v.class {
	case driver.Memory:
		return "not even the end of the store's process"
	case driver.Delayed:
		return fmt.Sprintf("the end of the store's process, but for the last %s before it", v.delay)
	case driver.Process:
		return "the end of the store's process, but not a loss of power"
	case driver.Power:
		return "a loss of power"
	case driver.Node:
		return "the loss of one machine of three"
	}
	return "nobody knows what: the store does not tell"
}

// price says what writes and reads take on the best of each class that is known and
// carries the rate.
func (s *screen) price() string {
	var list []*verdict
	for _, v := range s.verdicts {
		if v.class != driver.UnknownDurability && v.best().state == stateValid {
			list = append(list, v)
		}
	}
	if len(list) < 2 {
		return ""
	}
	var texts []string
	for _, kind := range []struct {
		name   string
		writes bool
	}{{"a write", true}, {"a read", false}} {
		var parts []string
		for _, v := range list {
			if p50 := v.best().typical(s.r.w, kind.writes); p50 > 0 {
				parts = append(parts, fmt.Sprintf("%s in class %s (%s)", showDuration(p50), v.class, v.best().label))
			}
		}
		if len(parts) == len(list) {
			texts = append(texts, kind.name+" takes "+joined(parts))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	text := " The price, at p50: " + strings.Join(texts, "; ") + "."
	if slices.ContainsFunc(list, func(v *verdict) bool { return v.best().store.facts.Name != list[0].best().store.facts.Name }) {
		text += " That is class and store together; for the class alone, measure one store with both settings."
	}
	return text
}

// typical returns the median response of all queries that write, or read; 0 when too
// few calls tell it.
func (c *candidate) typical(w *Workload, writes bool) time.Duration {
	all := hdrhistogram.New(1000, longestTime, 3)
	for at, q := range w.queries {
		if q.writes() == writes {
			all.Merge(c.spectra[at][responseTime])
		}
	}
	if all.TotalCount() < callsFor(50, 1) {
		return 0
	}
	return time.Duration(all.ValueAtQuantile(50))
}
