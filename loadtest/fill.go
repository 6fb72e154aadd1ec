package loadtest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/repo/driver"
)

// fill loads the data into all candidates: first a piece into each, by which it is told how long the run takes.
func (r *run) fill(ctx context.Context, s *operation.Stream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var list []*candidate.Filling
	for _, c := range r.candidates {
		f := c.Fill(ctx, r.w, r.data, r.progress)
		defer f.Stop()
		list = append(list, f)
	}
	if err := loadAll(list, cancel, (*candidate.Filling).Some); err != nil {
		return err
	}
	r.foretell(ctx, s, list)
	slices.SortStableFunc(list, func(a, b *candidate.Filling) int { return cmp.Compare(b.Left(), a.Left()) })
	if err := loadAll(list, cancel, (*candidate.Filling).Rest); err != nil {
		return err
	}
	for _, c := range r.candidates {
		if c.Lacks != "" {
			r.leaveOut(c)
		} else if err := errors.Join(c.Weigh(ctx), r.loaded(ctx, c)); err != nil {
			return err
		}
	}
	r.candidates = slices.DeleteFunc(r.candidates, func(c *candidate.Candidate) bool { return c.Lacks != "" })
	return r.someLeft()
}

// loadAll does a part of the loading of all candidates: all stores at the same time, and some candidates of each. The first
// error ends it.
func loadAll(list []*candidate.Filling, cancel func(), do func(*candidate.Filling) error) (failed error) {
	var all sync.WaitGroup
	var once sync.Once
	for s, of := range byStore(list) {
		next := make(chan *candidate.Filling, len(of))
		for _, f := range of {
			next <- f
		}
		close(next)
		for range loadedAtOnce(s) {
			all.Go(func() {
				for f := range next {
					if err := do(f); err != nil {
						once.Do(func() { failed = err })
						cancel()
						return
					}
				}
			})
		}
	}
	all.Wait()
	return failed
}

func byStore(list []*candidate.Filling) map[*store.Store][]*candidate.Filling {
	of := map[*store.Store][]*candidate.Filling{}
	for _, f := range list {
		of[f.Of.Store] = append(of[f.Of.Store], f)
	}
	return of
}

// loadedAtOnce returns how many candidates of a store are loaded at the same time: one where the library has many
// commits under way anyway.
func loadedAtOnce(s *store.Store) int {
	if s.Facts.Scope < driver.ScopeStore {
		return 1
	}
	return limit.LoadedAtOnce
}
