package spi

import (
	"slices"

	"github.com/polystore/polystore/conformance/internal/rule"
)

// An entry is a rule in a list of this package.
type entry = rule.Entry[*env]

// Rules returns the rules on the SPI, group by group.
func Rules() []rule.Rule {
	return slices.Concat(
		in(rule.Keys, keyRules()),
		in(rule.Records, recordRules()),
		in(rule.Conditions, conditionRules()),
		in(rule.Catalog, catalogRules()),
		in(rule.Outcomes, outcomeRules()),
		in(rule.Walks, walkRules()),
		in(rule.Errors, errorRules()),
		in(rule.Handles, handleRules()),
		in(rule.Close, closeRules()),
	)
}

func in(group string, list []entry) []rule.Rule { return rule.In(group, newEnv, list) }
