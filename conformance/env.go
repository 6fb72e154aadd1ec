package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An env is what one run of a rule works with: the store, and names that no other
// rule has.
type env struct {
	*suite
	tag  string    // the first part of all keys of the rule
	base int64     // the rule has the numbers from base to base+spread in indexes over a whole collection
	dog  *watchdog // ends a rule that comes no further
}

const spread = 1_000_000

// broken ends the rule: its sentence does not hold.
func (e *env) broken(want, format string, args ...any) {
	panic(finding.Wanted(want, fmt.Sprintf(format, args...)))
}

// ok ends the rule unless err is nil.
func (e *env) ok(what string, err error) {
	e.dog.move()
	if err != nil {
		e.broken(what+" to succeed", "%v", err)
	}
}

// is ends the rule unless err is of a kind.
func (e *env) is(what string, err, kind error) {
	e.dog.move()
	if !errors.Is(err, kind) {
		e.broken(fmt.Sprintf("%s to fail with %q", what, kind), "%s", outcomeText(err))
	}
}

func outcomeText(err error) string {
	if err == nil {
		return "success"
	}
	return err.Error()
}

// equal ends the rule unless got and want have the same types and values.
func equal[T any](e *env, what string, got, want T) {
	e.dog.move()
	if !reflect.DeepEqual(plainly(got), plainly(want)) {
		e.broken(fmt.Sprintf("%s to be %s", what, brief(want)), "%s", brief(got))
	}
}

// plainly returns values and pairs as text, absent values at the end left out,
// and anything else as it is.
func plainly(v any) any {
	list := []string{}
	switch v := v.(type) {
	case []driver.Value:
		for _, x := range v {
			list = append(list, kindText(x))
		}
	case []driver.Pair:
		for _, p := range v {
			list = append(list, p.Name+"\x00"+kindText(p.Value))
		}
	default:
		return v
	}
	for len(list) > 0 && list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// that ends the rule unless ok.
func (e *env) that(ok bool, want, format string, args ...any) {
	e.dog.move()
	if !ok {
		e.broken(want, format, args...)
	}
}

// brief returns a value as text for a report, the middle of long ones left out.
func brief(v any) string {
	var text string
	switch x := v.(type) {
	case string, []string:
		text = fmt.Sprintf("%q", x)
	case []byte:
		text = fmt.Sprintf("%d bytes, %#x …", len(x), x[:min(len(x), 32)])
	default:
		text = fmt.Sprintf("%+v", v)
	}
	if len(text) > 600 {
		text = fmt.Sprintf("%s … %s (%d bytes)", text[:300], text[len(text)-200:], len(text))
	}
	return text
}

// at returns an item of a list, which ends the rule when it is too short.
func at[T any](e *env, what string, list []T, i int) T {
	e.that(i >= 0 && i < len(list), fmt.Sprintf("%s to be at least %d", what, i+1), "%d", len(list))
	return list[i]
}

// parallel calls fn n times at once, waits, and ends the rule at the first error.
func (e *env) parallel(n int, fn func(i int) error) {
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

// clean ends the rule unless every index of a collection agrees with its records.
func clean[T any](ctx context.Context, e *env, r *repo.Repo[T]) {
	reports, err := r.Verify(ctx)
	e.ok("verify", err)
	for _, rep := range reports {
		e.that(rep.Clean(), "index "+rep.Index+" to agree with the records", "%d rows missing, %d stale: %q", rep.Missing, rep.Stale, rep.Samples)
	}
}

// collect ends the rule at an error of a sequence and returns its items.
func collect[T any](e *env, what string, seq func(func(T, error) bool)) []T {
	list, err := repo.Collect(seq)
	e.ok(what, err)
	return list
}
