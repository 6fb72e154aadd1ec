package api

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// shortDeadlinesOfRecords is the same for records, where an unknown outcome is resolved.
func shortDeadlinesOfRecords(ctx context.Context, e *env) {
	items := e.items(ctx)
	var tries [8][]rule.Attempt
	verdicts := map[string]repo.Verdict{}
	e.Parallel(len(tries), func(w int) error {
		r := rand.New(rand.NewPCG(uint64(e.Base), uint64(w)))
		for n := range 12 {
			a := rule.Attempt{ID: fmt.Sprint(w, "-", n)}
			it := e.item(a.ID)
			limited, cancel := rule.Soon(ctx, r)
			a.Err = items.Insert(limited, &it)
			cancel()
			if errors.Is(a.Err, repo.ErrExists) {
				return finding.Wanted("an insert in a hurry not to find what it inserted itself", a.Err.Error())
			}
			tries[w] = append(tries[w], a)
		}
		return nil
	})
	for _, list := range tries {
		for _, a := range list {
			if facts, ok := errors.AsType[*repo.Error](a.Err); ok && !a.Known() {
				e.That(facts.Outcome != nil, "an error of unknown outcome with its Outcome", "%v", a.Err)
				verdict, err := items.Resolve(ctx, facts.Outcome)
				e.OK("resolve", err)
				verdicts[a.ID] = verdict
			}
		}
	}
	for _, list := range tries {
		for _, a := range list {
			_, err := items.Get(ctx, e.itemKey(a.ID))
			e.That(err == nil || errors.Is(err, repo.ErrNotFound), "get to find the record, or none", "%v", err)
			a.Fits(e, "when all have answered", err == nil)
			if verdict, ok := verdicts[a.ID]; ok && verdict != repo.Unknown {
				e.That((verdict == repo.Committed) == (err == nil), fmt.Sprintf("the verdict %s to be true", verdict), "a record that is there: %v", err == nil)
			}
		}
	}
}
