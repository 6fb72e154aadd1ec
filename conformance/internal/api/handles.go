package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/history"
	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

// handleRules open the store once more while it is open, as another program does.
func handleRules() []entry {
	return []entry{
		{Name: "unique values", After: "commits", Sentence: "Of inserts at once with one unique value, by two programs, one succeeds.", Needs: tested.Both(tested.Others, tested.KeepsRemote), Check: onTwo(valuesOfTwo)},
		{Name: "histories", After: "tables", Sentence: "What clients of two programs see at once is explained by some order of their calls.", Needs: tested.Others, Check: onTwo(historiesOfTwo)},
	}
}

// onTwo calls check with a second handle that knows the tables of the suite.
func onTwo(check func(ctx context.Context, one, two *env)) func(context.Context, *env) {
	return func(ctx context.Context, e *env) {
		e.WithSecond(ctx, func(two *rule.Env) { check(ctx, e, newEnv(two)) })
	}
}

func valuesOfTwo(ctx context.Context, one, two *env) {
	people := []*repo.Repo[person]{one.people(ctx), two.people(ctx)}
	for round := range 8 {
		mail, won := one.name(fmt.Sprint("mail", round)), make([]bool, 6)
		one.Parallel(len(won), func(i int) error {
			p := one.person(fmt.Sprint(round, "-", i))
			p.Email = &mail
			err := people[i%2].Insert(ctx, &p)
			won[i] = err == nil
			if errors.Is(err, repo.ErrExists) {
				return nil
			}
			return err
		})
		owner := slices.Index(won, true)
		one.That(owner >= 0 && !slices.Contains(won[owner+1:], true), "one insert to succeed", "%v", won)
		for i := range 2 {
			rule.Equal(one, "the owner of the value", ownerOf(ctx, []*env{one, two}[i], mail), one.name(fmt.Sprint(round, "-", owner)))
		}
		one.OK("delete by the other program", people[1-owner%2].Delete(ctx, repo.Key{one.name(fmt.Sprint(round, "-", owner))}))
		again := one.person(fmt.Sprint(round, "-again"))
		again.Email = &mail
		one.OK("insert of a value that the other program has freed", people[owner%2].Insert(ctx, &again))
	}
	clean(ctx, two, people[1])
}

// historiesOfTwo makes histories of each kind whose clients are of one handle and the other.
func historiesOfTwo(ctx context.Context, one, two *env) {
	schema := record.Schema(one.Facts, true)
	name := one.FreshName()
	var repos []*repo.Repo[record.Entry]
	for _, e := range []*env{one, two} {
		schema.Collection = name
		r, err := repo.Open[record.Entry](ctx, repo.NewStore(double.Jittery{Store: e.Store}, nil), schema)
		one.OK("open", err)
		repos = append(repos, r)
	}
	kinds := history.KindsOf(tested.Reach(one.Facts))
	for i := range 2 {
		for k, kind := range kinds {
			h := history.NewHistory(repos[0], uint64(one.Base), len(kinds)*i+k)
			h.Others = repos[1:]
			if err := h.Run(ctx, kind); err != nil {
				panic(finding.AsMismatch(err))
			}
		}
	}
}
