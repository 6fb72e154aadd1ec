package random

import (
	"context"
	"slices"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// oracle returns the reference for a store. There a commit changes whatever it likes, so that
// no index and no unique value needs the protocol that keeps them where a commit changes one
// partition: what is wrong with that is not wrong on both sides. All that the reference
// has of the commit scope of the store is whether there can be groups.
func oracle(f driver.Facts) driver.Store {
	scope := driver.ScopeStore
	if f.Scope < driver.ScopePartition {
		scope = f.Scope
	}
	return memory.New(&memory.Options{Scope: &scope})
}

// Where unique values are kept apart from their records the answers are the same, but to
// groups that change several of them: a value is not passed on, and which values an expired
// record has lost when another one is refused is told by Maintain.

// claimOnce leaves one unique value to each group.
func claimOnce(ops []operation) {
	for _, op := range ops {
		claims := 0
		for i := range op.list {
			if w := &op.list[i]; w.verb != "delete" && w.rec.Name != nil {
				if claims++; claims > 1 && op.verb == "group" {
					w.rec.Name = nil
				}
			}
		}
	}
}

// passesOn reports whether a group is to give a record a unique value that another record of
// the group has.
func (s *typed[T]) passesOn(ctx context.Context, op operation) bool {
	if op.verb != "group" {
		return false
	}
	for _, w := range op.list {
		if w.rec.Name == nil || w.verb == "delete" {
			continue
		}
		rec, err := s.repo.One(ctx, repo.Where("name", *w.rec.Name))
		owner := record.KeyText(s.from(rec))
		if err == nil && owner != record.KeyText(w.rec) && slices.ContainsFunc(op.list, func(o operation) bool { return record.KeyText(o.rec) == owner }) {
			return true
		}
	}
	return false
}
