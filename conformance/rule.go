package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

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

// changesPartition says why a store cannot change several rows of one partition
// in one commit, and so keeps no index tables.
func changesPartition(f driver.Facts) string {
	if f.Unit < driver.UnitPartition {
		return fmt.Sprintf("a commit of %s changes one %s", f.Name, f.Unit)
	}
	return ""
}

// keepsNative reports whether the store keeps indexes by itself unless it is asked
// otherwise.
func keepsNative(f driver.Facts) bool {
	return f.Native.Has && len(f.NativeNear) == 0 && (f.PrefersNative || f.Unit == driver.UnitRecord)
}

// keepsNearby says why a store does not keep indexes by itself that find by equality near
// the records, and no others.
func keepsNearby(f driver.Facts) string {
	switch {
	case !f.Native.Has:
		return f.Native.Reason
	case len(f.NativeNear) == 0:
		return f.Name + " keeps indexes of every form by itself"
	}
	return ""
}

// keepsNear says why a store cannot keep indexes in the partitions of their records.
func keepsNear(f driver.Facts) string {
	if keepsNative(f) {
		return ""
	}
	return changesPartition(f)
}

// keepsFar says why a store cannot keep index rows in other partitions than their
// records.
func keepsFar(f driver.Facts) string {
	if f.Unit == driver.UnitPartition && !f.Apart.Has && !keepsNative(f) {
		return fmt.Sprintf("an index of %s lies in the partition of its records: %s", f.Name, f.Apart.Reason)
	}
	return keepsNear(f)
}

// reach returns how far from their records the rows of an index may lie: in the whole
// store, in their partition, or nowhere.
func reach(f driver.Facts) driver.Unit {
	if keepsFar(f) == "" && f.Unit > driver.UnitRecord {
		return driver.UnitStore
	}
	return f.Unit
}

// changesStore says why a store cannot change rows of several partitions in one
// commit.
func changesStore(f driver.Facts) string {
	if f.Unit < driver.UnitStore {
		return fmt.Sprintf("a commit of %s changes one %s", f.Name, f.Unit)
	}
	return ""
}

func alone(f driver.Facts) string {
	if !f.OneProcess {
		return "other processes may write to " + f.Name
	}
	return ""
}

func others(f driver.Facts) string {
	if f.OneProcess {
		return "no other process writes to " + f.Name
	}
	return ""
}

func both(a, b func(driver.Facts) string) func(driver.Facts) string {
	return func(f driver.Facts) string {
		if why := a(f); why != "" {
			return why
		}
		return b(f)
	}
}

// A mismatch is what a rule finds where the contract is not kept.
type mismatch struct{ want, got string }

func (m *mismatch) Error() string { return "want " + m.want + "; got " + m.got }

// errNotSupported marks a rule that a store's facts rule out.
type errNotSupported struct{ reason string }

func (e *errNotSupported) Error() string { return "not supported: " + e.reason }

// run checks the rule. It returns a *mismatch, an *errNotSupported, or nil. A
// store that does not answer within the limit is left behind.
func (r *rule) run(ctx context.Context, s *suite) error {
	if r.needs != nil {
		if why := r.needs(s.facts); why != "" {
			return &errNotSupported{why}
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
		return &mismatch{"an answer soon after the context ended", fmt.Sprintf("none within %s", s.limit+s.limit/2)}
	}
	if m, ok := errors.AsType[*mismatch](err); ok && limited.Err() != nil && ctx.Err() == nil {
		m.got += fmt.Sprintf(" (the rule was ended: %v)", context.Cause(limited))
	}
	return err
}

// try runs the check.
func (r *rule) try(ctx context.Context, e *env) error {
	return caught(func() error {
		r.check(ctx, e)
		return nil
	})
}

// caught calls a check, or what a goroutine of one does. The methods of env end it
// with a *mismatch, like a test that is ended by Fatal; any other panic is the
// store's.
func caught(call func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *mismatch:
			err = p
		case *errNotSupported:
			err = p
		default:
			err = &mismatch{"no panic", fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return call()
}

// asMismatch returns err as the deviation that a rule found.
func asMismatch(err error) *mismatch {
	if m, ok := errors.AsType[*mismatch](err); ok {
		return m
	}
	return &mismatch{"no error", err.Error()}
}
