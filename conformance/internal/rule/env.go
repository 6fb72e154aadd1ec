package rule

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/watchdog"
)

// An Env is what one run of a rule works with: the store, and names that no other
// rule has.
type Env struct {
	*Suite
	Tag  string        // the first part of all keys of the rule
	Base int64         // the rule has the numbers from Base to Base+spread in indexes over a whole collection
	dog  *watchdog.Dog // ends a rule that comes no further
}

const spread = 1_000_000

// A Holder is an Env, or a type that embeds one.
type Holder interface{ env() *Env }

func (e *Env) env() *Env { return e }

// Broken ends the rule: its sentence does not hold.
func (e *Env) Broken(want, format string, args ...any) {
	panic(finding.Wanted(want, fmt.Sprintf(format, args...)))
}

// OK ends the rule unless err is nil.
func (e *Env) OK(what string, err error) {
	e.dog.Move()
	if err != nil {
		e.Broken(what+" to succeed", "%v", err)
	}
}

// Is ends the rule unless err is of a kind.
func (e *Env) Is(what string, err, kind error) {
	e.dog.Move()
	if !errors.Is(err, kind) {
		e.Broken(fmt.Sprintf("%s to fail with %q", what, kind), "%s", OutcomeText(err))
	}
}

// That ends the rule unless ok.
func (e *Env) That(ok bool, want, format string, args ...any) {
	e.dog.Move()
	if !ok {
		e.Broken(want, format, args...)
	}
}

// Equal ends the rule unless got and want have the same types and values.
func Equal[T any](e Holder, what string, got, want T) {
	e.env().dog.Move()
	if !reflect.DeepEqual(Plainly(got), Plainly(want)) {
		e.env().Broken(fmt.Sprintf("%s to be %s", what, Brief(want)), "%s", Brief(got))
	}
}

// At returns an item of a list, which ends the rule when it is too short.
func At[T any](e Holder, what string, list []T, i int) T {
	e.env().That(i >= 0 && i < len(list), fmt.Sprintf("%s to be at least %d", what, i+1), "%d", len(list))
	return list[i]
}

// Parallel calls fn n times at once, waits, and ends the rule at the first error.
func (e *Env) Parallel(n int, fn func(i int) error) {
	errs := make([]error, n)
	begin := make(chan struct{}) // else the first may be done before the last one begins
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-begin
			errs[i] = finding.Caught(func() error { return fn(i) })
		})
	}
	close(begin)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			m := finding.AsMismatch(err)
			panic(m)
		}
	}
}

// Within calls do, which has to go on within a part of the time that the rule has, so that what hangs
// is named.
func (e *Env) Within(ctx context.Context, what string, do func(ctx context.Context)) {
	limited, cancel := e.dog.Guard(ctx, e.Limit/4)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- finding.Caught(func() error { do(limited); return nil }) }()
	err, returned := e.dog.Await(ctx, e.Limit/2, done)
	if !returned {
		e.Broken(what+" to end", "nothing within %s", e.Limit/2)
	}
	if err != nil {
		panic(finding.AsMismatch(err))
	}
}
