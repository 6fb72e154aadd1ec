package conformance

import (
	"slices"

	"github.com/polystore/polystore/conformance/internal/api"
	"github.com/polystore/polystore/conformance/internal/hierarchy"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/spi"
)

// The parts of a run that are no rules, in the order of the report.
const (
	randomGroup  = "random operations"
	historyGroup = "concurrent histories"
	killGroup    = "killed writers"
)

// rules returns all rules, group by group: in each those on the SPI, on which those on the API
// build. Those of the last group need the store for themselves: they close it.
func rules() []rule.Rule {
	var all []rule.Rule
	onSPI, onAPI := spi.Rules(), append(api.Rules(), hierarchy.Rules()...)
	for _, group := range rule.AllGroups() {
		list := ofGroup(onSPI, group)
		for _, r := range ofGroup(onAPI, group) {
			list = slices.Insert(list, placeOf(&r, list), r)
		}
		all = append(all, list...)
	}
	return all
}

func ofGroup(rules []rule.Rule, group string) []rule.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r rule.Rule) bool { return r.Group != group })
}

// placeOf returns where in its group a rule stands.
func placeOf(r *rule.Rule, group []rule.Rule) int {
	before := slices.IndexFunc(group, func(other rule.Rule) bool { return other.Name == r.After })
	if before < 0 {
		return len(group)
	}
	return before + 1
}
