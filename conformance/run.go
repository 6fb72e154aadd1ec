package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
)

// Run checks a store in a test: each rule is a subtest, and so are the random
// operations and the histories. It is all that the author of a backend calls.
func Run(t *testing.T, open Open) {
	o := newObserver()
	defer o.close()
	s, err := newSuite(t.Context(), open, o)
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Ops: 2000, Histories: 24}.withDefaults()
	s.draws(opts)
	t.Run("rules", func(t *testing.T) { s.test(t, opts) })
	s.goesOn = tested.LeavesTables(s.Facts)
	left := s.finish(context.WithoutCancel(t.Context()))
	for _, r := range rules() {
		if r.Group == rule.Close {
			t.Run("rules/"+r.ID(), func(t *testing.T) { s.testRule(t, &r) })
		}
	}
	t.Run(killGroup, func(t *testing.T) {
		s.observer.begins(killGroup)
		defer s.observer.ends(killGroup)
		note, err := s.killed(t.Context(), ownChild())
		if err != nil {
			t.Errorf("%s\n%v", killSentence, err)
		}
		t.Log(note)
	})
	if left == nil { // else Clean is to find what is left
		left = s.unmark(context.WithoutCancel(t.Context()))
	}
	if left != nil {
		t.Error(left)
	}
	failed := Report{Groups: []Group{{Failed: s.failed}}}
	if failed.findCause(); failed.Cause != "" {
		t.Error(failed.Cause)
	}
}

// test runs the rules that share the store as parallel subtests, which mostly wait, and with them the random
// operations and the histories.
func (s *suite) test(t *testing.T, opts Options) {
	for _, r := range rules() {
		if r.Group != rule.Close {
			t.Run(r.ID(), func(t *testing.T) {
				t.Parallel()
				s.testRule(t, &r)
			})
		}
	}
	t.Run(randomGroup, func(t *testing.T) {
		t.Parallel()
		if err := s.watchedCompare(t.Context(), opts); err != nil {
			t.Error(err)
		}
	})
	t.Run(historyGroup, func(t *testing.T) {
		t.Parallel()
		if err := s.watchedRecord(t.Context(), opts); err != nil {
			t.Error(err)
		}
	})
}

func (s *suite) testRule(t *testing.T, r *rule.Rule) {
	t.Helper()
	if s.hangs() {
		t.Fatalf("not begun: %d rules before it never returned", s.Hung.Load())
	}
	err := s.run(t.Context(), r)
	if missing, ok := errors.AsType[*finding.ErrNotSupported](err); ok {
		t.Logf("%s\nnot supported: %s", r.Sentence, missing.Reason)
		return
	}
	if err != nil {
		m := finding.AsMismatch(err)
		t.Errorf("%s\nwant  %s\ngot   %s\nagain go test -run '%s'", r.Sentence, m.Want, m.Got, t.Name())
		s.failing.Lock()
		defer s.failing.Unlock()
		s.failed = append(s.failed, Failure{Rule: r.ID(), Got: m.Got})
	}
}
