package api

import (
	"slices"

	"github.com/polystore/polystore/conformance/internal/rule"
)

// An entry is a rule in a list of this package.
type entry = rule.Entry[*env]

// Rules returns the rules on the API, group by group.
func Rules() []rule.Rule {
	return slices.Concat(
		in(rule.Records, slices.Concat(recordRules(), patchRules())),
		in(rule.Conditions, conditionRules()),
		in(rule.Indexes, indexRules()),
		in(rule.Unique, uniqueRules()),
		in(rule.Queries, queryRules()),
		in(rule.Expiry, expiryRules()),
		in(rule.Groups, groupRules()),
		in(rule.Bulk, bulkRules()),
		in(rule.Catalog, slices.Concat(nativeRules(), collectionRules(), versionRules())),
		in(rule.Outcomes, outcomeRules()),
		in(rule.Walks, walkRules()),
		in(rule.Errors, errorRules()),
		in(rule.Patterns, patternRules()),
		in(rule.Handles, handleRules()),
		in(rule.Close, closeRules()),
	)
}

func in(group string, list []entry) []rule.Rule { return rule.In(group, newEnv, list) }
