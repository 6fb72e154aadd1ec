package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/repo/driver"
)

// A rule is one sentence of the contract. Check ends at the first deviation, by
// the methods of env that compare.
type rule struct {
	group    string
	name     string
	sentence string
	needs    func(driver.Facts) string // says why the store cannot do it, "" if it can; nil needs nothing
	check    func(context.Context, *env)
}

func (r *rule) id() string { return r.group + "/" + r.name }

// The groups, in the order of the report.
const (
	keysGroup      = "keys and order"
	recordsGroup   = "records and fields"
	conditionGroup = "conditions"
	indexGroup     = "index tables"
	uniqueGroup    = "unique"
	queryGroup     = "queries and cursors"
	expiryGroup    = "expiry"
	groupsGroup    = "groups"
	bulkGroup      = "bulk"
	catalogGroup   = "catalog and schema"
	outcomeGroup   = "outcomes"
	walkGroup      = "walk and scan"
	errorGroup     = "errors and limits"
	patternGroup   = "fixed examples"
	handleGroup    = "two handles"
	closeGroup     = "close"

	randomGroup  = "random operations"
	historyGroup = "concurrent histories"
	killGroup    = "killed writers"
)

func groupNames() []string {
	return []string{keysGroup, recordsGroup, conditionGroup, indexGroup, uniqueGroup, queryGroup, expiryGroup,
		groupsGroup, bulkGroup, catalogGroup, outcomeGroup, walkGroup, errorGroup, patternGroup, handleGroup, closeGroup}
}

// rules returns all rules. Those of the last group need the store for themselves:
// they close it.
func rules() []rule {
	var all []rule
	for i, list := range [][]rule{keyRules(), recordRules(), conditionRules(), indexRules(), uniqueRules(), queryRules(),
		expiryRules(), groupRules(), bulkRules(), catalogRules(), outcomeRules(), walkRules(), errorRules(), patternRules(), handleRules(), closeRules()} {
		for _, r := range list {
			r.group = groupNames()[i]
			all = append(all, r)
		}
	}
	return all
}

// run checks the rule. It returns a *mismatch, an *errNotSupported, or nil. A
// store that does not answer within the limit is left behind.
func (r *rule) run(ctx context.Context, s *suite) error {
	if r.needs != nil {
		if why := r.needs(s.facts); why != "" {
			return &finding.ErrNotSupported{Reason: why}
		}
	}
	s.observer.begins(r.id())
	defer s.observer.ends(r.id())
	e := s.env()
	limited, cancel := e.dog.guard(ctx, s.limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.try(limited, e) }()
	err, returned := e.dog.await(ctx, s.limit+s.limit/2, done)
	if !returned {
		s.hung.Add(1)
		return finding.Wanted("an answer soon after the context ended", fmt.Sprintf("none within %s", s.limit+s.limit/2))
	}
	if m, ok := errors.AsType[*finding.Mismatch](err); ok && limited.Err() != nil && ctx.Err() == nil {
		m.Got += fmt.Sprintf(" (the rule was ended: %v)", context.Cause(limited))
	}
	return err
}

// try runs the check.
func (r *rule) try(ctx context.Context, e *env) error {
	return finding.Caught(func() error {
		r.check(ctx, e)
		return nil
	})
}
