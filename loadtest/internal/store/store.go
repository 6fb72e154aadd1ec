// Package store opens the stores that are compared, counts what is asked of them, and removes what runs
// put there. A URL comes in; a store with its costs goes out.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A Store is one of those that are compared, opened.
type Store struct {
	At     int    // among the stores of the run
	URL    string // without secrets
	driver driver.Store
	Repo   *repo.Store
	Facts  driver.Facts
	Tagged string // the collection that says whose the others are; "" if there is none

	Shared string // the collection that says which processes share the run; "" if this process made none

	shares  *repo.Repo[map[string]any] // of that collection, of the first share's process if this one did not make it
	claimed []string                   // earlier runs whose collections are used

	meter driver.Meter // nil where no server tells its processor time

	trips, requests, rows atomic.Int64 // of all operations so far
}

// Open opens the store of a URL.
func Open(ctx context.Context, url, shown string, open func(context.Context, string) (driver.Store, error)) (*Store, error) {
	d, err := open(ctx, url)
	if err != nil {
		return nil, err
	}
	if r := reflect.ValueOf(d); d == nil || r.Kind() == reflect.Pointer && r.IsNil() {
		return nil, fmt.Errorf("open %s: there is neither a store nor an error: %w", shown, driver.ErrInvalid)
	}
	s := &Store{URL: shown, driver: d, Facts: d.Facts()}
	s.Repo = repo.NewStore(d, &repo.Options{Tracer: s.tracer()})
	if err := s.learnMeter(ctx); err != nil {
		return nil, errors.Join(err, s.Repo.Close())
	}
	return s, nil
}

// InProcess reports whether the store works inside this process, so that it
// shares the processor with the clock.
func (s *Store) InProcess() bool { return s.Facts.OneProcess }

// Drop removes collections at once: on most stores each takes some seconds, in which other
// programs are told. Those with which others lie go after these. It returns those that are
// left, and why the first of them is.
func (s *Store) Drop(ctx context.Context, names []string) (left []string, err error) {
	if left, err = s.drop(ctx, names); len(left) > 0 && len(left) < len(names) {
		return s.drop(ctx, left)
	}
	return left, err
}

func (s *Store) drop(ctx context.Context, names []string) (left []string, err error) {
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { errs[i] = repo.DropCollection(ctx, s.Repo, name) })
	}
	all.Wait()
	for i, e := range errs {
		if e != nil {
			left = append(left, names[i])
			err = cmp.Or(err, e)
		}
	}
	return left, err
}

// LostIn returns err as that of a store that was lost, unless there is none, it is
// about answers, or the run was interrupted.
func (s *Store) LostIn(ctx context.Context, when string, err error) error {
	var wrong *failure.WrongAnswers
	if err == nil || ctx.Err() != nil || errors.As(err, &wrong) {
		return cmp.Or(ctx.Err(), err)
	}
	return &failure.StoreLost{Store: s.URL, When: when, Err: err}
}
