package api

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

// outcomeRules are those of writes whose answers are lost: of what package repo makes of
// the tokens that a store keeps. The answers are lost by a wrapper; the store is the one
// under test.
func outcomeRules() []entry {
	return []entry{
		{Name: "answer lost", After: "sent again later", Sentence: "A write whose answer was lost succeeds if it was done.", Check: answerLost},
		{Name: "request lost", After: "answer lost", Sentence: "A write that was lost on its way is sent again and done once.", Check: requestLost},
		{Name: "short deadlines of records", Sentence: "So it is with records, and Resolve says the truth of those whose outcome is unknown.", Check: shortDeadlinesOfRecords},
		{Name: "unknown", Sentence: "A write whose outcome cannot be known is ErrUnknownOutcome with its Outcome.", Check: unknownOutcome},
		{Name: "resolve committed", Sentence: "Resolve of a write that was done is Committed, and stays so.", Check: resolveCommitted},
		{Name: "resolve not committed", Sentence: "Resolve of a write that was not done is NotCommitted, and a late copy of it is never done.", Check: resolveNotCommitted},
		{Name: "resolve a patch", Sentence: "So it is with a Patch that says no version: nobody is left without an answer.", Check: resolvePatches},
		{Name: "resolve a blind patch", Sentence: "Resolve of a PatchBlind is Committed if it was done, and else Unknown.", Check: resolveBlindPatches},
		{Name: "votes in trouble", Sentence: "Votes that several count at once by Patch are counted once each, whatever answers and requests are lost, but for those that Resolve says were not done.", Check: votesInTrouble},
		{Name: "resolve an insert", Sentence: "Resolve settles inserts and deletes too.", Check: resolveInserts},
		{Name: "resolve on a tombstone", Sentence: "Resolve says NotCommitted of an insert that is younger than the delete by more than clocks differ, though the ring is full, and a late copy is never done.", Check: resolveOnTombstone},
		{Name: "not yet durable", Sentence: "What a store that waits for replicas cannot yet say will last is neither acknowledged nor resolved as committed.", Check: notYetDurable},
		{Name: "outcome as text", Sentence: "The text of an Outcome can be kept and resolved by another program; any other text is ErrInvalid.", Check: outcomeAsText},
		{Name: "tombstones", Sentence: "Where outcomes can be unknown, a deleted record leaves a tombstone that no verb shows.", Check: tombstones},
		{Name: "unknown and found", Sentence: "A write whose outcome is unknown and that was done is found by every index.", Needs: tested.KeepsRemote, Check: unknownFound},
		{Name: "unknown values", Sentence: "A late copy of a write takes no unique value after it was resolved as not committed.", Needs: tested.KeepsRemote, Check: lateClaim},
	}
}

// A line is a repository whose store may lose answers.
type line struct {
	*env
	*double.Lossy
	items *repo.Repo[item]
	name  string
}

// newLine returns a repository on a new collection.
func newLine(ctx context.Context, e *env) *line {
	l := &line{env: e, Lossy: &double.Lossy{Store: e.Store}, name: e.FreshName()}
	l.items = l.again(ctx)
	return l
}

// again opens the collection in another program.
func (l *line) again(ctx context.Context) *repo.Repo[item] {
	schema := itemSchema()
	schema.Collection = l.name
	r, err := repo.Open[item](ctx, repo.NewStore(l.Lossy, nil), schema)
	l.OK("open", err)
	return r
}

func (l *line) insert(ctx context.Context, id string) item {
	it := l.item(id)
	l.OK("insert", l.items.Insert(ctx, &it))
	return it
}

// state returns text and count of a record, or "none".
func (l *line) state(ctx context.Context, id string) string {
	it, err := l.items.Get(ctx, l.itemKey(id))
	if errors.Is(err, repo.ErrNotFound) {
		return "none"
	}
	l.OK("get", err)
	return fmt.Sprint(it.Text, " ", it.Count)
}

// verbs returns the writes on a record a that is there, and what they leave.
func (l *line) verbs(ctx context.Context) map[string]struct {
	do   func() error
	want string
} {
	type verb = struct {
		do   func() error
		want string
	}
	it := l.item("a")
	it.Text = "new"
	return map[string]verb{
		"put":     {func() error { return l.items.Put(ctx, &it) }, "new 0"},
		"replace": {func() error { it := it; return l.items.Replace(ctx, &it) }, "new 0"},
		"patch":   {func() error { _, err := l.items.Patch(ctx, l.itemKey("a"), repo.Add("count", 3)); return err }, "text of a 3"},
		"update": {func() error {
			_, err := l.items.Update(ctx, l.itemKey("a"), func(it *item) error { it.Count++; return nil })
			return err
		}, "text of a 1"},
		"delete": {func() error { return l.items.Delete(ctx, l.itemKey("a")) }, "none"},
	}
}

// each starts every verb anew on a record a.
func (l *line) each(ctx context.Context, try func(name string, do func() error, want string)) {
	for name := range l.verbs(ctx) {
		l.OK("delete", l.items.Delete(ctx, l.itemKey("a")))
		l.insert(ctx, "a")
		verb := l.verbs(ctx)[name]
		try(name, verb.do, verb.want)
	}
}

func answerLost(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.each(ctx, func(name string, do func() error, want string) {
		l.Lose(double.DoneThenLost)
		e.OK(name+" whose answer was lost", do())
		rule.Equal(e, "the record after "+name, l.state(ctx, "a"), want)
	})
	l.Lose(double.DoneThenLost)
	it := l.insert(ctx, "b")
	got, err := l.items.Get(ctx, l.itemKey("b"))
	e.OK("get", err)
	rule.Equal(e, "the record after insert", got, it)
}

func requestLost(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.each(ctx, func(name string, do func() error, want string) {
		l.Lose(double.LostOnTheWay, double.LostOnTheWay)
		e.OK(name+" that was lost on its way", do())
		rule.Equal(e, "the record after "+name, l.state(ctx, "a"), want)
	})
	l.Lose(double.LostOnTheWay)
	l.insert(ctx, "b")
	rule.Equal(e, "the record after insert", l.state(ctx, "b"), "text of b 0")
}

// unknown does a write whose answer is lost while nobody answers, and returns its
// outcome.
func (l *line) unknown(name string, plan double.LossPlan, do func() error) *repo.Outcome {
	l.Lose(plan)
	err := do()
	l.Is(name, err, repo.ErrUnknownOutcome)
	facts, ok := errors.AsType[*repo.Error](err)
	l.That(ok && facts.Outcome != nil, "an error with an Outcome", "%v", err)
	l.That(!facts.Retryable, "an error that is not retryable", "%v", err)
	return facts.Outcome
}

// blind ends the context of a write when its answer is lost, so that nobody looks
// for what became of it.
func (l *line) blind(ctx context.Context, do func(ctx context.Context) error) func() error {
	return func() error {
		limited, cancel := context.WithCancel(ctx)
		l.OnLoss(cancel)
		defer l.OnLoss(nil)
		return do(limited)
	}
}

func unknownOutcome(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	for i, plan := range []double.LossPlan{double.DoneThenLost, double.LostOnTheWay} {
		o := l.unknown("update", plan, l.blind(ctx, func(ctx context.Context) error {
			_, err := l.items.Update(ctx, e.itemKey("a"), func(it *item) error { it.Count += 10; return nil })
			e.Is("update whose context ended on its way", err, context.Canceled)
			return err
		}))
		e.That(o != nil, "an Outcome", "none")
		rule.Equal(e, "the record", l.state(ctx, "a"), fmt.Sprint("text of a ", []int{10, 10}[i]))
	}
}

// add returns a blind write that adds to the count of a.
func (l *line) add(ctx context.Context, n int64) func() error {
	return l.blind(ctx, func(ctx context.Context) error {
		_, err := l.items.Update(ctx, l.itemKey("a"), func(it *item) error { it.Count += n; return nil })
		return err
	})
}

func (l *line) resolved(ctx context.Context, what string, o *repo.Outcome, want repo.Verdict) {
	got, err := l.items.Resolve(ctx, o)
	l.OK("resolve", err)
	rule.Equal(l.env, "the verdict on "+what, got, want)
}

func resolveCommitted(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	o := l.unknown("update", double.DoneThenLost, l.add(ctx, 10))
	for range 3 {
		l.resolved(ctx, "a write that was done", o, repo.Committed)
		_, err := l.items.Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
		e.OK("patch", err)
	}
	rule.Equal(e, "the record", l.state(ctx, "a"), "text of a 13")
}

func resolveNotCommitted(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	o := l.unknown("update", double.DoneLater, l.add(ctx, 10))
	l.resolved(ctx, "a write that was not done", o, repo.NotCommitted)
	done, err := l.Release(ctx)
	e.OK("late copy", err)
	rule.Equal(e, "how many late copies were done", done, 0)
	l.resolved(ctx, "the same write again", o, repo.NotCommitted)
	_, err = l.items.Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
	e.OK("patch", err)
	l.resolved(ctx, "the same write after another", o, repo.NotCommitted)
	rule.Equal(e, "the record", l.state(ctx, "a"), "text of a 1")
}

func resolveInserts(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	for i, plan := range []double.LossPlan{double.DoneThenLost, double.DoneLater} {
		want := []repo.Verdict{repo.Committed, repo.NotCommitted}[i]
		id := fmt.Sprint(i)
		it := l.item(id)
		o := l.unknown("insert", plan, l.blind(ctx, func(ctx context.Context) error { return l.items.Insert(ctx, &it) }))
		l.resolved(ctx, "an insert", o, want)
		done, err := l.Release(ctx)
		e.OK("late copy", err)
		rule.Equal(e, "how many late copies of an insert were done", done, 0)
		there := []string{"text of 0 0", "none"}[i]
		rule.Equal(e, "the record", l.state(ctx, id), there)
		it = l.item(id)
		e.OK("put", l.items.Put(ctx, &it))
		l.resolved(ctx, "the insert after a put", o, want)
		o = l.unknown("delete", plan, l.blind(ctx, func(ctx context.Context) error { return l.items.Delete(ctx, e.itemKey(id)) }))
		l.resolved(ctx, "a delete", o, want)
		done, err = l.Release(ctx)
		e.OK("late copy", err)
		rule.Equal(e, "how many late copies of a delete were done", done, 0)
		rule.Equal(e, "the record after the delete", l.state(ctx, id), []string{"none", "text of 1 0"}[i])
	}
}

func outcomeAsText(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	for i, plan := range []double.LossPlan{double.DoneThenLost, double.DoneLater} {
		o := l.unknown("update", plan, l.add(ctx, 10))
		text, err := o.MarshalText()
		e.OK("marshal", err)
		var kept repo.Outcome
		e.OK("unmarshal", kept.UnmarshalText(text))
		verdict, err := l.again(ctx).Resolve(ctx, &kept)
		e.OK("resolve by another program", err)
		rule.Equal(e, "the verdict", verdict, []repo.Verdict{repo.Committed, repo.NotCommitted}[i])
		for _, bad := range []string{"", "{}", "x", string(text[:len(text)/2]), strings.Replace(string(text), `"token":"`, `"token":"0`, 1)} {
			var o repo.Outcome
			e.Is("unmarshal of "+rule.Brief(bad), o.UnmarshalText([]byte(bad)), repo.ErrInvalid)
		}
	}
	_, err := l.items.Resolve(ctx, nil)
	e.Is("resolve of nothing", err, repo.ErrInvalid)
	_, err = l.items.Resolve(ctx, &repo.Outcome{})
	e.Is("resolve of an empty outcome", err, repo.ErrInvalid)
}

func tombstones(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	for range 2 {
		it := l.insert(ctx, "a")
		l.insert(ctx, "b")
		e.OK("delete", l.items.Delete(ctx, e.itemKey("a")))
		rule.Equal(e, "the deleted record", l.state(ctx, "a"), "none")
		q := repo.Where("shelf", e.name("shelf"))
		rule.Equal(e, "the records by find", len(collect(e, "find", l.items.Find(ctx, q))), 1)
		rule.Equal(e, "the records by scan", len(collect(e, "scan", l.items.Scan(ctx, q))), 1)
		rule.Equal(e, "the records by keys", len(collect(e, "keys", l.items.Keys(ctx, q))), 1)
		n, err := l.items.Count(ctx, q)
		e.That(err == nil && n == 1, "a count of 1", "%d, %v", n, err)
		page, err := l.items.Page(ctx, q.Limit(1), "")
		e.That(err == nil && len(page.Items) == 1 && page.Next == "", "a page of one record, the last", "%d, %v", len(page.Items), err)
		for chunk, err := range l.items.Walk(ctx, "") {
			e.OK("walk", err)
			rule.Equal(e, "the records by walk", len(chunk.Items), 1)
		}
		e.Is("replace of the deleted record", l.items.Replace(ctx, &it), repo.ErrNotFound)
		_, err = l.items.Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
		e.Is("patch of it", err, repo.ErrNotFound)
		e.OK("delete of it", l.items.Delete(ctx, e.itemKey("a")))
		e.OK("delete", l.items.Delete(ctx, e.itemKey("b")))
	}
}
