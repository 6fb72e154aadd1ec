package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// outcomeRules are those of writes whose answers are lost: of the tokens that a
// store keeps, and of what package repo makes of them. The answers are lost by a
// wrapper; the store is the one under test.
func outcomeRules() []rule {
	return append(resentRules(), []rule{
		{name: "ring", sentence: "A row keeps the tokens of its last commits, newest first, at most Table.Ring of them.", check: ring},
		{name: "fences in the ring", sentence: "The Ring leaves fences out.", check: ringFences},
		{name: "ring of the dead", sentence: "A row that dies, and is written again, keeps the tokens from before.", check: ringOfDead},
		{name: "ring of the caller", sentence: "A Ring that comes with an op counts for nothing unless the op is AtRev.", check: callersRing},
		{name: "no ring", sentence: "A row of a table without a Ring keeps no tokens.", check: noRing},
		{name: "sent again", sentence: "A commit that is sent again with its token answers as the first time and does nothing twice.", check: sentAgain},
		{name: "tokens alike", sentence: "Tokens are told apart by every bit of them.", check: tokensAlike},
		{name: "sent again later", sentence: "That holds as long as the token is in the Ring of the first op's row.", check: sentAgainLater},
		{name: "answer lost", sentence: "A write whose answer was lost succeeds if it was done.", check: answerLost},
		{name: "request lost", sentence: "A write that was lost on its way is sent again and done once.", check: requestLost},
		{name: "short deadlines", sentence: "A commit whose context ends on its way was done if it succeeded, and was not if it failed, unless its outcome is unknown.", check: shortDeadlines},
		{name: "cut commits", sentence: "A commit of many ops whose context ends on its way is done whole, or not at all.", needs: tested.ChangesPartition, check: cutCommits},
		{name: "short deadlines of records", sentence: "So it is with records, and Resolve says the truth of those whose outcome is unknown.", check: shortDeadlinesOfRecords},
		{name: "unknown", sentence: "A write whose outcome cannot be known is ErrUnknownOutcome with its Outcome.", check: unknownOutcome},
		{name: "resolve committed", sentence: "Resolve of a write that was done is Committed, and stays so.", check: resolveCommitted},
		{name: "resolve not committed", sentence: "Resolve of a write that was not done is NotCommitted, and a late copy of it is never done.", check: resolveNotCommitted},
		{name: "resolve a patch", sentence: "So it is with a Patch that says no version: nobody is left without an answer.", check: resolvePatches},
		{name: "resolve a blind patch", sentence: "Resolve of a PatchBlind is Committed if it was done, and else Unknown.", check: resolveBlindPatches},
		{name: "votes in trouble", sentence: "Votes that several count at once by Patch are counted once each, whatever answers and requests are lost, but for those that Resolve says were not done.", check: votesInTrouble},
		{name: "resolve an insert", sentence: "Resolve settles inserts and deletes too.", check: resolveInserts},
		{name: "resolve on a tombstone", sentence: "Resolve says NotCommitted of an insert that is younger than the delete by more than clocks differ, though the ring is full, and a late copy is never done.", check: resolveOnTombstone},
		{name: "not yet durable", sentence: "What a store that waits for replicas cannot yet say will last is neither acknowledged nor resolved as committed.", check: notYetDurable},
		{name: "outcome as text", sentence: "The text of an Outcome can be kept and resolved by another program; any other text is ErrInvalid.", check: outcomeAsText},
		{name: "tombstones", sentence: "Where outcomes can be unknown, a deleted record leaves a tombstone that no verb shows.", check: tombstones},
		{name: "unknown and found", sentence: "A write whose outcome is unknown and that was done is found by every index.", needs: tested.KeepsFar, check: unknownFound},
		{name: "unknown values", sentence: "A late copy of a write takes no unique value after it was resolved as not committed.", needs: tested.KeepsFar, check: lateClaim},
	}...)
}

func ring(ctx context.Context, e *env) {
	t := e.tables.ringed
	key := e.at(t, "p", "a")
	var want []driver.Token
	for i := range 7 {
		op := put(t, row(key, fmt.Sprint(i)))
		if i%3 == 2 {
			op = driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: key}, Edits: []driver.Edit{addTo(fInt, 1)}}
		}
		want = append([]driver.Token{e.commit(ctx, op)}, want...)
		want = want[:min(len(want), ringSize)]
		got := e.get(ctx, t, key)
		equal(e, "the Ring by get", got.Ring, want)
		equal(e, "the Ring by range", at(e, "the rows by range", e.rows(ctx, span(t, key)), 0).Ring, want)
		equal(e, "the Ring by walk", at(e, "the rows by walk", e.walk(ctx, t), 0).Ring, want)
	}
	dead := driver.Row{Key: key, Dead: true, Expires: 1}
	want = append([]driver.Token{e.commit(ctx, put(t, dead))}, want[:ringSize-1]...)
	got := e.getAll(ctx, t, []int{}, key)
	equal(e, "the Ring of a dead row, read with a mask", got[0].Ring, want)
}

func ringFences(ctx context.Context, e *env) {
	t := e.tables.ringed
	key := e.at(t, "p", "a")
	first := e.commit(ctx, put(t, row(key, "x")))
	e.fence(ctx, t, key, first)
	e.commit(ctx, driver.Op{Do: driver.Check, Table: t, Row: driver.Row{Key: key}, If: driver.Present})
	second := e.commit(ctx, put(t, row(key, "y")))
	fence := e.fence(ctx, t, key, second)
	got := e.get(ctx, t, key)
	equal(e, "the Ring", got.Ring, []driver.Token{second, first})
	equal(e, "the Rev", got.Rev, fence)
}

func noRing(ctx context.Context, e *env) {
	t := e.tables.sorted
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	e.commit(ctx, put(t, row(key, "y")))
	equal(e, "the length of the Ring", len(e.get(ctx, t, key).Ring), 0)
}

// commitTwice sends a commit twice with one token.
func commitTwice(ctx context.Context, e *env, token driver.Token, ops ...driver.Op) {
	for range 2 {
		refusal, err := e.store.Commit(ctx, token, ops)
		e.ok("commit", err)
		e.that(refusal == nil, "a commit that is sent again to succeed", "a refusal")
	}
}

func sentAgain(ctx context.Context, e *env) {
	t := e.tables.ringed
	key := e.at(t, "p", "a")
	insert := put(t, row(key, "x"))
	insert.If = driver.Absent
	commitTwice(ctx, e, driver.NewToken(), insert)
	before := e.get(ctx, t, key)
	token := driver.NewToken()
	commitTwice(ctx, e, token, driver.Op{Do: driver.Patch, Table: t, If: driver.AtRev, Rev: before.Rev, Row: driver.Row{Key: key}, Edits: []driver.Edit{addTo(fInt, 5)}})
	got := e.get(ctx, t, key)
	equal(e, "the sum", kindText(field(&got, fInt)), kindText(num(5)))
	equal(e, "Rev and Ring", fmt.Sprint(got.Rev, got.Ring), fmt.Sprint(token, []driver.Token{token, before.Rev}))
}

func sentAgainLater(ctx context.Context, e *env) {
	t := e.tables.ringed
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	token := driver.NewToken()
	add := []driver.Op{{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: key}, Edits: []driver.Edit{addTo(fInt, 1)}}}
	for range ringSize {
		refusal, err := e.store.Commit(ctx, token, add)
		e.that(err == nil && refusal == nil, "a commit that is sent again to succeed", "%v, refusal %v", err, refusal != nil)
		e.commit(ctx, driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: key}, Edits: []driver.Edit{set(fBool, driver.BoolValue(true))}})
	}
	got := e.get(ctx, t, key)
	equal(e, "the sum", kindText(field(&got, fInt)), kindText(num(1)))
	e.fence(ctx, t, key, got.Rev)
	e.commit(ctx, add...)
	got = e.get(ctx, t, key)
	equal(e, "the sum after another Add", kindText(field(&got, fInt)), kindText(num(2)))
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
	l := &line{env: e, Lossy: &double.Lossy{Store: e.store}, name: e.freshName()}
	l.items = l.again(ctx)
	return l
}

// again opens the collection in another program.
func (l *line) again(ctx context.Context) *repo.Repo[item] {
	schema := itemSchema()
	schema.Collection = l.name
	r, err := repo.Open[item](ctx, repo.NewStore(l.Lossy, nil), schema)
	l.ok("open", err)
	return r
}

func (l *line) insert(ctx context.Context, id string) item {
	it := l.item(id)
	l.ok("insert", l.items.Insert(ctx, &it))
	return it
}

// state returns text and count of a record, or "none".
func (l *line) state(ctx context.Context, id string) string {
	it, err := l.items.Get(ctx, l.itemKey(id))
	if errors.Is(err, repo.ErrNotFound) {
		return "none"
	}
	l.ok("get", err)
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
		l.ok("delete", l.items.Delete(ctx, l.itemKey("a")))
		l.insert(ctx, "a")
		verb := l.verbs(ctx)[name]
		try(name, verb.do, verb.want)
	}
}

func answerLost(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.each(ctx, func(name string, do func() error, want string) {
		l.Lose(double.DoneThenLost)
		e.ok(name+" whose answer was lost", do())
		equal(e, "the record after "+name, l.state(ctx, "a"), want)
	})
	l.Lose(double.DoneThenLost)
	it := l.insert(ctx, "b")
	got, err := l.items.Get(ctx, l.itemKey("b"))
	e.ok("get", err)
	equal(e, "the record after insert", got, it)
}

func requestLost(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.each(ctx, func(name string, do func() error, want string) {
		l.Lose(double.LostOnTheWay, double.LostOnTheWay)
		e.ok(name+" that was lost on its way", do())
		equal(e, "the record after "+name, l.state(ctx, "a"), want)
	})
	l.Lose(double.LostOnTheWay)
	l.insert(ctx, "b")
	equal(e, "the record after insert", l.state(ctx, "b"), "text of b 0")
}

// unknown does a write whose answer is lost while nobody answers, and returns its
// outcome.
func (l *line) unknown(name string, plan double.LossPlan, do func() error) *repo.Outcome {
	l.Lose(plan)
	err := do()
	l.is(name, err, repo.ErrUnknownOutcome)
	facts, ok := errors.AsType[*repo.Error](err)
	l.that(ok && facts.Outcome != nil, "an error with an Outcome", "%v", err)
	l.that(!facts.Retryable, "an error that is not retryable", "%v", err)
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
			e.is("update whose context ended on its way", err, context.Canceled)
			return err
		}))
		e.that(o != nil, "an Outcome", "none")
		equal(e, "the record", l.state(ctx, "a"), fmt.Sprint("text of a ", []int{10, 10}[i]))
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
	l.ok("resolve", err)
	equal(l.env, "the verdict on "+what, got, want)
}

func resolveCommitted(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	o := l.unknown("update", double.DoneThenLost, l.add(ctx, 10))
	for range 3 {
		l.resolved(ctx, "a write that was done", o, repo.Committed)
		_, err := l.items.Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
		e.ok("patch", err)
	}
	equal(e, "the record", l.state(ctx, "a"), "text of a 13")
}

func resolveNotCommitted(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	o := l.unknown("update", double.DoneLater, l.add(ctx, 10))
	l.resolved(ctx, "a write that was not done", o, repo.NotCommitted)
	done, err := l.Release(ctx)
	e.ok("late copy", err)
	equal(e, "how many late copies were done", done, 0)
	l.resolved(ctx, "the same write again", o, repo.NotCommitted)
	_, err = l.items.Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
	e.ok("patch", err)
	l.resolved(ctx, "the same write after another", o, repo.NotCommitted)
	equal(e, "the record", l.state(ctx, "a"), "text of a 1")
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
		e.ok("late copy", err)
		equal(e, "how many late copies of an insert were done", done, 0)
		there := []string{"text of 0 0", "none"}[i]
		equal(e, "the record", l.state(ctx, id), there)
		it = l.item(id)
		e.ok("put", l.items.Put(ctx, &it))
		l.resolved(ctx, "the insert after a put", o, want)
		o = l.unknown("delete", plan, l.blind(ctx, func(ctx context.Context) error { return l.items.Delete(ctx, e.itemKey(id)) }))
		l.resolved(ctx, "a delete", o, want)
		done, err = l.Release(ctx)
		e.ok("late copy", err)
		equal(e, "how many late copies of a delete were done", done, 0)
		equal(e, "the record after the delete", l.state(ctx, id), []string{"none", "text of 1 0"}[i])
	}
}

func outcomeAsText(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	for i, plan := range []double.LossPlan{double.DoneThenLost, double.DoneLater} {
		o := l.unknown("update", plan, l.add(ctx, 10))
		text, err := o.MarshalText()
		e.ok("marshal", err)
		var kept repo.Outcome
		e.ok("unmarshal", kept.UnmarshalText(text))
		verdict, err := l.again(ctx).Resolve(ctx, &kept)
		e.ok("resolve by another program", err)
		equal(e, "the verdict", verdict, []repo.Verdict{repo.Committed, repo.NotCommitted}[i])
		for _, bad := range []string{"", "{}", "x", string(text[:len(text)/2]), strings.Replace(string(text), `"token":"`, `"token":"0`, 1)} {
			var o repo.Outcome
			e.is("unmarshal of "+brief(bad), o.UnmarshalText([]byte(bad)), repo.ErrInvalid)
		}
	}
	_, err := l.items.Resolve(ctx, nil)
	e.is("resolve of nothing", err, repo.ErrInvalid)
	_, err = l.items.Resolve(ctx, &repo.Outcome{})
	e.is("resolve of an empty outcome", err, repo.ErrInvalid)
}

func tombstones(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	for range 2 {
		it := l.insert(ctx, "a")
		l.insert(ctx, "b")
		e.ok("delete", l.items.Delete(ctx, e.itemKey("a")))
		equal(e, "the deleted record", l.state(ctx, "a"), "none")
		q := repo.Where("shelf", e.name("shelf"))
		equal(e, "the records by find", len(collect(e, "find", l.items.Find(ctx, q))), 1)
		equal(e, "the records by scan", len(collect(e, "scan", l.items.Scan(ctx, q))), 1)
		equal(e, "the records by keys", len(collect(e, "keys", l.items.Keys(ctx, q))), 1)
		n, err := l.items.Count(ctx, q)
		e.that(err == nil && n == 1, "a count of 1", "%d, %v", n, err)
		page, err := l.items.Page(ctx, q.Limit(1), "")
		e.that(err == nil && len(page.Items) == 1 && page.Next == "", "a page of one record, the last", "%d, %v", len(page.Items), err)
		for chunk, err := range l.items.Walk(ctx, "") {
			e.ok("walk", err)
			equal(e, "the records by walk", len(chunk.Items), 1)
		}
		e.is("replace of the deleted record", l.items.Replace(ctx, &it), repo.ErrNotFound)
		_, err = l.items.Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
		e.is("patch of it", err, repo.ErrNotFound)
		e.ok("delete of it", l.items.Delete(ctx, e.itemKey("a")))
		e.ok("delete", l.items.Delete(ctx, e.itemKey("b")))
	}
}
