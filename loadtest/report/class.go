package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/repo/driver"
)

// class returns the class of durability of a name, and whether there is one.
func class(name string) (driver.Durability, bool) {
	for d := driver.UnknownDurability; d <= driver.Node; d++ {
		if d.String() == name {
			return d, true
		}
	}
	return driver.UnknownDurability, false
}

// sameClass reports whether candidates on both stores can be ranked against each
// other: an acknowledged write survives the same. Of a store that does not tell that
// nothing is known, so it is compared with itself alone.
func sameClass(a, b *StoreResult) bool {
	return a.Durability == b.Durability && a.Delay == b.Delay && (a.Durability != driver.UnknownDurability.String() || a == b)
}

// classes returns the candidates by class of durability, the strongest class first
// and unknown ones last. Of delayed ones the one with the least delay is the strongest.
func classes(candidates []*candidate) []*verdict {
	var verdicts []*verdict
	for _, c := range candidates {
		i := slices.IndexFunc(verdicts, func(v *verdict) bool { return sameClass(v.ranked[0].on, c.on) })
		if i < 0 {
			of, _ := class(c.on.Durability)
			i, verdicts = len(verdicts), append(verdicts, &verdict{class: of, delay: c.on.Delay})
		}
		verdicts[i].ranked = append(verdicts[i].ranked, c)
	}
	slices.SortStableFunc(verdicts, func(a, b *verdict) int {
		return cmp.Or(cmp.Compare(b.class, a.class), cmp.Compare(a.delay, b.delay))
	})
	return verdicts
}

// stores returns the stores of a class, in the order of the result.
func (v *verdict) stores() []*StoreResult {
	var list []*StoreResult
	all := v.ranked[0].result.Stores
	for i := range all {
		if slices.ContainsFunc(v.ranked, func(c *candidate) bool { return c.StoreAt == i }) {
			list = append(list, &all[i])
		}
	}
	return list
}

// heading names a class, the stores in it, and the settings that put them there.
func (v *verdict) heading() string {
	var parts []string
	for _, s := range v.stores() {
		parts = append(parts, fmt.Sprintf("%s, %s", s.Name, s.Setting))
	}
	return fmt.Sprintf("Class %s (%s)", v.class, strings.Join(parts, "; "))
}

// across says what the classes mean, why they are not ranked against each other,
// and what the stronger one costs.
func (p *page) across() string {
	if len(p.verdicts) < 2 {
		return ""
	}
	var parts []string
	for _, v := range p.verdicts {
		if text := "in class " + v.class.String() + " " + v.survives(); !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return "An acknowledged write survives " + strings.Join(parts, "; ") +
		". A class that promises less may be faster for that alone, so the classes are not ranked against each other: first choose the class, then what to take in it." + p.price()
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
func (p *page) price() string {
	var list []*verdict
	for _, v := range p.verdicts {
		if v.class != driver.UnknownDurability && v.best().State == stateValid {
			list = append(list, v)
		}
	}
	if len(list) < 2 {
		return ""
	}
	var texts []string
	for _, kind := range []struct {
		name string
		of   func(*CandidateResult) Typical
	}{{"a write", func(c *CandidateResult) Typical { return c.Writes }}, {"a read", func(c *CandidateResult) Typical { return c.Reads }}} {
		var parts []string
		for _, v := range list {
			if of := kind.of(v.best().CandidateResult); of.Calls >= callsFor(50, 1) && of.P50 > 0 {
				parts = append(parts, fmt.Sprintf("%s in class %s (%s)", format.Duration(of.P50), v.class, v.best().Name))
			}
		}
		if len(parts) == len(list) {
			texts = append(texts, kind.name+" takes "+format.Joined(parts))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	text := " The price, at p50: " + strings.Join(texts, "; ") + "."
	if slices.ContainsFunc(list, func(v *verdict) bool { return v.best().on.Name != list[0].best().on.Name }) {
		text += " That is class and store together; for the class alone, measure one store with both settings."
	}
	return text
}
