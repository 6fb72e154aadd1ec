package rule

import (
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/repo/driver"
)

// A Rule is one sentence of the contract. Check ends at the first deviation, by
// the methods of Env that compare.
type Rule struct {
	Entry[*Env]
	Group string
}

// An Entry is a rule in a list of a package, whose checks work with an env of its own.
type Entry[E any] struct {
	Name     string
	Sentence string
	After    string                    // the rule of its group behind which it stands; "" is the end
	Needs    func(driver.Facts) string // says why the store cannot do it, "" if it can; nil needs nothing
	Check    func(context.Context, E)
}

// In returns the entries of a list as the rules of a group. For each run of a rule env makes
// what its check works with.
func In[E any](group string, env func(*Env) E, list []Entry[E]) []Rule {
	rules := make([]Rule, len(list))
	for i, r := range list {
		check := func(ctx context.Context, e *Env) { r.Check(ctx, env(e)) }
		rules[i] = Rule{Entry[*Env]{r.Name, r.Sentence, r.After, r.Needs, check}, group}
	}
	return rules
}

// The groups, in the order of the report.
const (
	Keys       = "keys and order"
	Records    = "records and fields"
	Conditions = "conditions"
	Indexes    = "index tables"
	Unique     = "unique"
	Queries    = "queries and cursors"
	Expiry     = "expiry"
	Groups     = "groups"
	Bulk       = "bulk"
	Catalog    = "catalog and schema"
	Outcomes   = "outcomes"
	Walks      = "walk and scan"
	Errors     = "errors and limits"
	Patterns   = "fixed examples"
	Trees      = "hierarchies"
	Handles    = "two handles"
	Close      = "close" // its rules need the store for themselves: they close it
)

// AllGroups returns the groups in their order.
func AllGroups() []string {
	return []string{Keys, Records, Conditions, Indexes, Unique, Queries, Expiry, Groups, Bulk, Catalog, Outcomes, Walks,
		Errors, Patterns, Trees, Handles, Close}
}

// ID returns the name of a rule with that of its group.
func (r *Rule) ID() string { return r.Group + "/" + r.Name }

// Run checks the rule. It returns a *finding.Mismatch, a *finding.ErrNotSupported, or nil. A
// store that does not answer within the limit is left behind.
func (r *Rule) Run(ctx context.Context, s *Suite) error {
	if r.Needs != nil {
		if why := r.Needs(s.Facts); why != "" {
			return &finding.ErrNotSupported{Reason: why}
		}
	}
	e := s.NewEnv()
	limited, cancel := e.dog.Guard(ctx, s.Limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.try(limited, e) }()
	err, returned := e.dog.Await(ctx, s.Limit+s.Limit/2, done)
	if !returned {
		s.Hung.Add(1)
		return finding.Wanted("an answer soon after the context ended", fmt.Sprintf("none within %s", s.Limit+s.Limit/2))
	}
	if m, ok := errors.AsType[*finding.Mismatch](err); ok && limited.Err() != nil && ctx.Err() == nil {
		m.Got += fmt.Sprintf(" (the rule was ended: %v)", context.Cause(limited))
	}
	return err
}

// try runs the check.
func (r *Rule) try(ctx context.Context, e *Env) error {
	return finding.Caught(func() error {
		r.Check(ctx, e)
		return nil
	})
}
