package loadtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/store"
)

// close removes what the run put into the stores, all at once, and closes them.
func (r *run) close() error {
	for _, c := range r.candidates {
		if r.opts.Keep && len(c.Names) > 0 {
			r.progress.Say("kept %s: %s", c.Label, strings.Join(c.Names, ", "))
		}
	}
	errs := make([]error, len(r.stores))
	var all sync.WaitGroup
	for i, s := range r.stores {
		all.Go(func() { errs[i] = errors.Join(r.clean(s), s.Repo.Close()) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// clean removes the collections of the run from a store.
func (r *run) clean(s *store.Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit.CleanTime)
	defer cancel()
	var names []string
	for _, c := range slices.Concat(r.candidates, r.absent) {
		if c.Store == s && !r.opts.Keep {
			names = append(names, c.Names...)
		}
	}
	left, failure := s.Drop(ctx, names)
	if s.Tagged != "" && failure == nil {
		failure = s.Untag(ctx, r.opts.Keep)
	}
	if failure != nil {
		return fmt.Errorf("not all of the run could be removed from %s, where there may be still %s; polystore load --clean %s removes them: %w",
			s.URL, strings.Join(append(left, s.Tagged), ", "), s.URL, failure)
	}
	return nil
}
