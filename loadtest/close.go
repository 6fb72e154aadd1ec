package loadtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/store"
)

// close removes what the run put into the stores, all at once, and closes them.
func (r *run) close(ended error) error {
	began := time.Now()
	defer func() {
		if took := time.Since(began); took > time.Second {
			r.progress.Say("cleaned up in %v", took.Round(time.Second/10))
		}
	}()
	errs := make([]error, len(r.stores))
	var all sync.WaitGroup
	for i, s := range r.stores {
		all.Go(func() { errs[i] = errors.Join(r.clean(s, ended), s.Repo.Close()) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// clean removes the collections of the run from a store, but for those that it keeps, and those that another share made.
func (r *run) clean(s *store.Store, ended error) error {
	if r.shared.joins() {
		return r.shared.leave(s, ended)
	}
	names, kept := r.keepAll(s, ended)
	if s.Shared != "" {
		names = append(names, s.Shared)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit.CleanTime)
	defer cancel()
	left, failure := s.Drop(ctx, names)
	if s.Tagged != "" && failure == nil && kept == nil {
		failure = s.Untag(ctx, r.opts.Keep)
	}
	if failure != nil {
		return fmt.Errorf("not all of the run could be removed from %s, where there may be still %s; polystore load --clean %s removes them: %w",
			s.URL, strings.Join(append(left, s.Tagged), ", "), s.URL, failure)
	}
	return errors.Join(kept, s.Unclaim(ctx))
}
