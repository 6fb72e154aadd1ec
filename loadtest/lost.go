package loadtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// A StoreLost error says that a store stopped answering after the first operations
// were measured. Run returns it together with what was measured before.
type StoreLost struct {
	Store string // its URL, without secrets
	When  string
	Err   error
}

// Error returns which store it was, when, and what its last answer was.
func (e *StoreLost) Error() string {
	return fmt.Sprintf("%s stopped answering %s: %v", e.Store, e.When, e.Err)
}

// Unwrap returns the store's error.
func (e *StoreLost) Unwrap() error { return e.Err }

// lostIn returns err as that of a store that was lost, unless there is none, it is
// about answers, or the run was interrupted.
func (s *store) lostIn(ctx context.Context, when string, err error) error {
	var wrong *WrongAnswers
	if err == nil || ctx.Err() != nil || errors.As(err, &wrong) {
		return cmp.Or(ctx.Err(), err)
	}
	return &StoreLost{s.url, when, err}
}

// answers reads a few records, to tell a store that is gone from one that fails now
// and then.
func (c *candidate) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit.AnswerTime)
	defer cancel()
	for _, err := range c.repos[0].Walk(ctx, "") {
		return err
	}
	return nil
}

// close removes what the run put into the stores, all at once, and closes them.
func (r *run) close() error {
	for _, c := range r.candidates {
		if r.opts.Keep && len(c.names) > 0 {
			r.progress.say("kept %s: %s", c.label, strings.Join(c.names, ", "))
		}
	}
	errs := make([]error, len(r.stores))
	var all sync.WaitGroup
	for i, s := range r.stores {
		all.Go(func() { errs[i] = errors.Join(r.clean(s), s.repo.Close()) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// clean removes the collections of the run from a store.
func (r *run) clean(s *store) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit.CleanTime)
	defer cancel()
	var names []string
	for _, c := range r.candidates {
		if c.store == s && !r.opts.Keep {
			names = append(names, c.names...)
		}
	}
	left, failure := s.drop(ctx, names)
	if s.tagged != "" && failure == nil {
		failure = s.untag(ctx, r.opts.Keep)
	}
	if failure != nil {
		return fmt.Errorf("not all of the run could be removed from %s, where there may be still %s; polystore load --clean %s removes them: %w",
			s.url, strings.Join(append(left, s.tagged), ", "), s.url, failure)
	}
	return nil
}
