package copies_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/copies"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repotest"
)

// Lost answers and calls, late and double commits: nothing differs that is not due.
func TestLostAnswers(t *testing.T) {
	scope := driver.ScopePartition
	for _, fault := range []repotest.Fault{repotest.LostAnswer, repotest.LostCall, repotest.Late, repotest.Twice, repotest.Conflict, repotest.Unavailable} {
		for at, tasks := range map[string]repo.Schema{"near": near, "far": far} {
			for name, options := range map[string]*memory.Options{"memory": nil, "cluster": {Scope: &scope}} {
				t.Run(fmt.Sprint(fault, "/", at, "/", name), func(t *testing.T) { lose(t, fault, memory.New(options), tasks) })
			}
		}
	}
}

func lose(t *testing.T, fault repotest.Fault, backend driver.Store, tasks repo.Schema) {
	t.Parallel()
	open(t, backend, tasks, nil)
	faulty, err := repotest.New(backend, &repotest.Options{Uncertain: true, Rules: []repotest.Rule{
		{On: repotest.Commit, Operation: "commit", Share: 0.3, Fault: fault, After: 2},
		{On: repotest.Get, Operation: "get many", Share: 0.1, Fault: repotest.Unavailable},
	}})
	must(t, err)
	p, rng, ctx := open(t, faulty, tasks, nil), rand.New(rand.NewPCG(1, 2)), t.Context()
	done := 0
	for n := range 150 {
		who := []string{"ann", "bob"}[rng.IntN(2)]
		switch rng.IntN(6) {
		case 0:
			_, err = p.tasks.Update(ctx, p.key("1"), func(x *task) error { x.Owner = who; return nil })
		case 1:
			err = p.tasks.Put(ctx, &task{Team: "t", ID: fmt.Sprint(rng.IntN(3)), Owner: who, Helpers: []string{"ann"}})
		case 2:
			_, err = p.people.Follow(ctx)
		case 3:
			_, err = p.people.Update(ctx, repo.Key{"t", who}, func(x *person) error { x.Name = fmt.Sprint(n); return nil })
		case 4:
			err = p.people.Delete(ctx, repo.Key{"t", who})
		default:
			err = p.people.Put(ctx, &person{Team: "t", ID: who, Name: fmt.Sprint(n % 3)})
		}
		switch e, _ := errors.AsType[*repo.Error](err); {
		case err == nil:
			done++
		case e == nil || e.Outcome == nil && !e.Retryable && !errors.Is(err, repo.ErrNotFound):
			t.Errorf("call %d: %v", n, err)
		}
	}
	must(t, faulty.Set())
	faulty.Release()
	p.settled(t)
	if done < 50 {
		t.Errorf("%d calls were done", done)
	}
}

// Keys and values of all kinds of texts.
func TestHostileKeys(t *testing.T) {
	on(t, func(t *testing.T, backend driver.Store, tasks repo.Schema) {
		p := open(t, backend, tasks, nil)
		ids := []string{"", "a", "a/b", "a:b", "{a}", "*", "\x00", "a\x00", "ü", "\"a\"", "_due", strings.Repeat("x", 300)}
		helpers := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return strings.Contains(id, "\x00") }) // names of a map
		for _, id := range ids {
			p.put(t, id, "of "+id)
			p.add(t, "task "+id, id, helpers...)
		}
		for _, id := range ids {
			p.put(t, id, "new "+id)
		}
		p.settled(t)
		for _, id := range ids {
			x := good(p.tasks.Records().Get(t.Context(), p.key("task "+id)))(t)
			if x.Name != "new "+id || len(x.Names) != len(helpers) || x.Names["*"] != "new *" {
				t.Errorf("%q: %q, %q", id, x.Name, x.Names)
			}
		}
	})
}

// What the plain repositories write is found, and mended.
func TestVerify(t *testing.T) {
	on(t, func(t *testing.T, backend driver.Store, tasks repo.Schema) {
		ctx, p := t.Context(), open(t, backend, tasks, nil)
		p.put(t, "ann", "Ann")
		p.put(t, "bob", "Bob")
		for n := range 300 {
			p.add(t, fmt.Sprint(n), []string{"bob", "ann"}[n%2], "ann")
		}
		p.settled(t)
		old := good(p.tasks.Records().Get(ctx, p.key("7")))(t)
		good(p.people.Update(ctx, ann, func(a *person) error { a.Name = "Anna"; return nil }))(t)
		p.settled(t)
		old.Version = repo.Version{}
		must(t, p.tasks.Records().Put(ctx, &old)) // with the copies of then
		good(p.people.Records().Patch(ctx, repo.Key{"t", "bob"}, repo.Set("name", "Rob")))(t)
		if n := len(p.differing(t)); n != 151 {
			t.Errorf("%d copies differ, want those of bob and one of ann", n)
		}
		for _, key := range p.differing(t) {
			if !good(p.tasks.Refresh(ctx, key))(t) {
				t.Errorf("%s did not differ", key)
			}
		}
		if changed := good(p.tasks.Refresh(ctx, p.key("7")))(t); changed || len(p.differing(t)) > 0 {
			t.Errorf("the copies of %v differ", p.differing(t))
		}
		_, err := p.tasks.Refresh(ctx, p.key("none"))
		isKind(t, err, repo.ErrNotFound)
	})
}

// Copies that cannot be written stay due and do not keep the others; the source is written.
func TestRefusedCopies(t *testing.T) {
	on(t, func(t *testing.T, backend driver.Store, tasks repo.Schema) {
		ctx, p := t.Context(), open(t, backend, tasks, nil)
		p.put(t, "ann", "Ann")
		p.put(t, "bob", "Bob")
		p.add(t, "1", "ann")
		p.add(t, "2", "bob")
		p.settled(t)
		p.put(t, "ann", "refused")
		isKindless := func(err error) {
			t.Helper()
			if e, ok := errors.AsType[*repo.Error](err); !ok || !strings.Contains(e.Error(), "no such name") {
				t.Error(err)
			}
		}
		isKindless(p.tasks.Put(ctx, &task{Team: "t", ID: "3", Owner: "ann"}))
		p.put(t, "bob", "Rob")
		_, err := p.people.Follow(ctx)
		isKindless(err)
		p.want(t, "1", "Ann")
		p.want(t, "2", "Rob")
		if due := good(p.people.Due(ctx))(t); due.Count != 1 || due.Since.IsZero() {
			t.Errorf("%+v is due", due)
		}
		p.put(t, "ann", "Anna")
		p.settled(t)
		p.want(t, "1", "Anna")
	})
}

func TestBadCalls(t *testing.T) {
	ctx, store := t.Context(), repo.NewStore(memory.New(nil), nil)
	p := open(t, memory.New(nil), near, nil)
	rule := copies.Rule[task, person]{By: []string{"team", "owner"}, Refs: func(*task) []repo.Key { return nil }, Copy: func(context.Context, *task, []*person) error { return nil }}
	noSource := good(copies.OpenSource(ctx, store, people, (*person).id))(t)
	noVersion := good(copies.OpenTarget(ctx, p.store, repo.Schema{Collection: "bare", Partition: []string{"team", "owner"}, Sort: []string{"id"}},
		func(x *task) (repo.Key, repo.Version) { return repo.Key{x.Team, x.Owner, x.ID}, repo.Version{} }))(t)
	bad := func(change func(r *copies.Rule[task, person])) error {
		r := rule
		change(&r)
		return copies.Declare(p.tasks, p.people, r)
	}
	_, nilID := copies.OpenSource[person](ctx, p.store, people, nil)
	_, nilIDs := copies.OpenTarget[task](ctx, p.store, near, nil)
	_, nilUpdate := p.people.Update(ctx, ann, nil)
	p.put(t, "ann", "Ann")
	_, nilFn := p.people.Update(ctx, ann, nil)
	_, key := copies.OpenSource(ctx, p.store, repo.Schema{Collection: "odd", Partition: []string{"due_since"}}, func(*map[string]any) (k repo.Key, v repo.Version) { return })
	for i, err := range []error{
		nilID, nilIDs, nilUpdate, nilFn, p.people.Put(ctx, nil), p.tasks.Put(ctx, nil),
		bad(func(r *copies.Rule[task, person]) { r.Copy = nil }), bad(func(r *copies.Rule[task, person]) { r.Refs = nil }),
		bad(func(r *copies.Rule[task, person]) { r.By = []string{"team"} }), bad(func(r *copies.Rule[task, person]) { r.By = []string{"team", "done"} }),
		copies.Declare(p.tasks, noSource, rule), copies.Declare(nil, p.people, rule),
	} {
		if _, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	isKind(t, key, repo.ErrSchema)
	isKind(t, bad(func(r *copies.Rule[task, person]) { r.By = []string{"team", "name"} }), repo.ErrNoIndex)
	must(t, copies.Declare(noVersion, p.people, rule), noVersion.Put(ctx, &task{Team: "t", Owner: "ann", ID: "1"}))
}
