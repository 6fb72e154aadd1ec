package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// A suite is one run on one store: what rules need of it, and what the run does before and
// after them.
type suite struct {
	*rule.Suite
	limits
	observer *observer
	goesOn   bool // when finish has closed the store, rules open it anew

	failing sync.Mutex
	failed  []Failure // of rules in a test
}

// newSuite opens the store and makes the tables for the rules that use no
// collection.
func newSuite(ctx context.Context, open Open, o *observer) (*suite, error) {
	s, err := openSuite(ctx, usual, open, o)
	if err != nil {
		return nil, err
	}
	if err := s.define(ctx); err != nil {
		return nil, errors.Join(err, s.finish(context.WithoutCancel(ctx))) // some of them are there
	}
	return s, nil
}

// openSuite opens the store.
func openSuite(ctx context.Context, l limits, open Open, o *observer) (*suite, error) {
	open = open.sound()
	if ctx == nil {
		_, err := open(ctx) // which is an error
		return nil, fmt.Errorf("open the store: %w", err)
	}
	s := &suite{Suite: rule.NewSuite(open, l.limit), limits: l, observer: o}
	o.names(s.ID)
	err := s.within(ctx, "Open", func() error {
		store, err := open(ctx)
		if err == nil {
			s.Use(store)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	return s, nil
}

// define makes the tables for the rules that use no collection.
func (s *suite) define(ctx context.Context) error {
	s.mark(ctx)
	if err := s.within(ctx, "Define", func() error { return s.Define(ctx) }); err != nil {
		return fmt.Errorf("define the tables of the suite: %w", err)
	}
	return nil
}

// draws tells rules how much to draw, and from which seed.
func (s *suite) draws(o Options) {
	s.Seed, s.Histories = o.Seed, max(0, o.Histories/16)
}

// run checks a rule, as [rule.Rule.Run] does, and tells the observer.
func (s *suite) run(ctx context.Context, r *rule.Rule) error {
	s.observer.begins(r.ID())
	defer s.observer.ends(r.ID())
	return r.Run(ctx, s.Suite)
}

// markName is the name of a collection without records that a run makes first and removes
// last. By it Clean finds the run, whose tables need not be of a collection.
func (s *suite) markName() string { return s.ID + "_run" }

// A mark is a record of that collection.
type mark struct {
	ID string `repo:"id"`
}

// mark makes the mark of the run. A store that cannot do it breaks rules that say so.
func (s *suite) mark(ctx context.Context) {
	s.DropsCollection(s.markName())
	_ = s.within(ctx, "Open of a collection", func() error {
		_, err := repo.Open[mark](ctx, s.Repo, repo.Schema{Collection: s.markName(), Partition: []string{"id"}})
		return err
	})
}

// unmark removes the mark of a run that went on when finish had closed the store.
func (s *suite) unmark(ctx context.Context) error {
	if !s.goesOn {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.stall)
	defer cancel()
	err := s.within(ctx, "Open, Drop and Close", func() error {
		store, err := s.Open(ctx)
		if err != nil {
			return err
		}
		return errors.Join(repo.DropCollection(ctx, repo.NewStore(store, nil), s.markName()), store.Close())
	})
	if err != nil {
		return fmt.Errorf("drop the mark of the run, %s: %w", s.markName(), err)
	}
	return nil
}

// finish drops everything that the suite made, but for the mark if the run goes on, and
// closes the store.
func (s *suite) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.stall)
	defer cancel()
	errs := []error{s.within(ctx, "Drop", func() error { return s.dropAll(ctx) }), s.within(ctx, "Close", s.Store.Close)}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("drop what the suite made (names begin with %s; Clean, or polystore conform --clean, removes them): %w", s.ID, err)
	}
	return nil
}

// dropAll drops everything that the suite made, as of now, but for the mark if the run goes on.
func (s *suite) dropAll(ctx context.Context) error {
	if s.goesOn {
		return s.DropAll(ctx, s.markName())
	}
	return s.DropAll(ctx, "")
}
