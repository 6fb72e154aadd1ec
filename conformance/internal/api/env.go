package api

import (
	"context"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// An env is what a rule on the API works with.
type env struct{ *rule.Env }

func newEnv(e *rule.Env) *env { return &env{e} }

// clean ends the rule unless every index of a collection agrees with its records.
func clean[T any](ctx context.Context, e *env, r *repo.Repo[T]) {
	reports, err := r.Verify(ctx)
	e.OK("verify", err)
	for _, rep := range reports {
		e.That(rep.Clean(), "index "+rep.Index+" to agree with the records", "%d rows missing, %d stale: %q", rep.Missing, rep.Stale, rep.Samples)
	}
}

// collect ends the rule at an error of a sequence and returns its items.
func collect[T any](e *env, what string, seq func(func(T, error) bool)) []T {
	list, err := repo.Collect(seq)
	e.OK(what, err)
	return list
}
