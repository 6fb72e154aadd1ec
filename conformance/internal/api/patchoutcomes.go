package api

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// patch returns a patch that adds to the count of a, and does not look what became of it.
func (l *line) patch(ctx context.Context, do func(ctx context.Context, key repo.Key, edits ...repo.Edit) (repo.Version, error)) func() error {
	return l.blind(ctx, func(ctx context.Context) error {
		_, err := do(ctx, l.itemKey("a"), repo.Add("count", 10))
		return err
	})
}

func resolvePatches(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	for i, plan := range []double.LossPlan{double.DoneThenLost, double.LostOnTheWay, double.DoneLater} {
		want := []repo.Verdict{repo.Committed, repo.NotCommitted, repo.NotCommitted}[i]
		o := l.unknown("patch", plan, l.patch(ctx, l.items.Patch))
		for range 3 {
			l.resolved(ctx, "a patch", o, want)
			_, err := l.items.Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
			e.OK("patch", err)
		}
		done, err := l.Release(ctx)
		e.OK("late copy", err)
		rule.Equal(e, "how many late copies of a patch were done", done, 0)
	}
	rule.Equal(e, "the record", l.state(ctx, "a"), "text of a 19")
}

func resolveBlindPatches(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	for i, plan := range []double.LossPlan{double.DoneThenLost, double.LostOnTheWay} {
		o := l.unknown("patch", plan, l.patch(ctx, l.items.PatchBlind))
		l.resolved(ctx, "a blind patch", o, []repo.Verdict{repo.Committed, repo.Unknown}[i])
	}
	rule.Equal(e, "the record", l.state(ctx, "a"), "text of a 10")
}

const votersInTrouble, votesEach = 8, 5

// votesInTrouble lets several count on one record while every third commit is lost, and asks what became of those whose outcome is unknown.
func votesInTrouble(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	for range votersInTrouble * votesEach / 4 {
		l.Lose(double.DoneThenLost, double.NotLost, double.NotLost, double.LostOnTheWay, double.NotLost, double.NotLost)
	}
	var mu sync.Mutex
	counted, open := 0, 0
	var failed error
	var all sync.WaitGroup
	for range votersInTrouble {
		all.Go(func() {
			for range votesEach {
				verdict, err := l.vote(ctx)
				mu.Lock()
				failed = errors.Join(failed, err)
				switch verdict {
				case repo.Committed:
					counted++
				case repo.Unknown:
					open++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	e.OK("votes", failed)
	it, err := l.items.Get(ctx, l.itemKey("a"))
	e.OK("get", err)
	e.That(it.Count >= int64(counted) && it.Count <= int64(counted+open), fmt.Sprintf("a count of %d, or up to %d more", counted, open), "%d", it.Count)
	e.That(open <= votersInTrouble, fmt.Sprintf("hardly a vote, at most %d, of which nobody knows", votersInTrouble), "%d", open)
	l.overtaken(ctx, it.Count)
}

// overtaken loses the answers of votes over which another one lies by the time at which that shows.
func (l *line) overtaken(ctx context.Context, count int64) {
	another := func() *line {
		l := &line{env: l.env, Lossy: &double.Lossy{Store: l.Store}, name: l.name}
		l.items = l.again(ctx)
		return l
	}
	mine, other := another(), another()
	counts := func(l *line) {
		verdict, err := l.vote(ctx)
		l.That(err == nil && verdict == repo.Committed, "a vote to be counted", "%v, %v", verdict, err)
	}
	mine.OnLoss(func() { counts(other) })
	for _, plan := range []double.LossPlan{double.DoneThenLost, double.LostOnTheWay} {
		mine.Lose(plan)
		counts(mine)
	}
	it, err := l.items.Get(ctx, l.itemKey("a"))
	l.OK("get", err)
	rule.Equal(l.env, "the votes that these four have added", it.Count-count, int64(4))
}

// vote counts one, and says what became of it.
func (l *line) vote(ctx context.Context) (repo.Verdict, error) {
	_, err := l.items.Patch(ctx, l.itemKey("a"), repo.Add("count", 1))
	facts, ok := errors.AsType[*repo.Error](err)
	switch {
	case err == nil:
		return repo.Committed, nil
	case ok && facts.Outcome != nil:
		return l.items.Resolve(ctx, facts.Outcome)
	}
	return repo.NotCommitted, err
}
