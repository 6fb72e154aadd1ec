package copies_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/copies"
	"github.com/polystore/polystore/repo/driver"
)

// A person is what tasks have copies of.
type person struct {
	Team    string       `repo:"team"`
	ID      string       `repo:"id"`
	Name    string       `repo:"name"`
	Seen    int64        `repo:"seen"` // which nobody copies
	Version repo.Version `repo:",version"`
}

func (p *person) id() (repo.Key, repo.Version) { return repo.Key{p.Team, p.ID}, p.Version }

// A task has the name of its owner, and those of its helpers.
type task struct {
	Team    string            `repo:"team"`
	ID      string            `repo:"id"`
	Owner   string            `repo:"owner"`
	Name    string            `repo:"name"`
	Helpers []string          `repo:"helpers"`
	Names   map[string]string `repo:"names"` // of the helpers
	Done    bool              `repo:"done"`
	Version repo.Version      `repo:",version"`
}

func (t *task) id() (repo.Key, repo.Version) { return repo.Key{t.Team, t.ID}, t.Version }

var (
	people = repo.Schema{Collection: "people", Partition: []string{"team"}, Sort: []string{"id"}}
	near   = repo.Schema{Collection: "tasks", With: "people", Partition: []string{"team"}, Sort: []string{"-id"}, Indexes: []repo.Index{
		{Partition: []string{"team", "owner"}, Sort: []string{"-id"}}, {Partition: []string{"team", "helpers[]"}, Sort: []string{"-id"}},
	}}
	far = repo.Schema{Collection: "tasks", Partition: []string{"id"}, Sort: []string{"team"}, Indexes: []repo.Index{
		{Partition: []string{"team", "owner"}, Sort: []string{"id"}}, {Partition: []string{"team", "helpers[]"}, Sort: []string{"id"}},
	}}
	ann = repo.Key{"t", "ann"}
)

// A program is a source and a target on a store.
type program struct {
	store  *repo.Store
	people *copies.Source[person]
	tasks  *copies.Target[task]
	key    func(task string) repo.Key
}

func open(t testing.TB, backend driver.Store, tasks repo.Schema, opts *repo.Options) *program {
	t.Helper()
	p, ctx := &program{store: repo.NewStore(backend, opts)}, t.Context()
	id := (*task).id
	if p.key = func(id string) repo.Key { return repo.Key{"t", id} }; tasks.With == "" {
		id = func(t *task) (repo.Key, repo.Version) { return repo.Key{t.ID, t.Team}, t.Version }
		p.key = func(id string) repo.Key { return repo.Key{id, "t"} }
	}
	var err error
	p.people, err = copies.OpenSource(ctx, p.store, people, (*person).id)
	must(t, err)
	p.tasks, err = copies.OpenTarget(ctx, p.store, tasks, id)
	must(t, err)
	must(t, copies.Declare(p.tasks, p.people, copies.Rule[task, person]{
		By:   []string{"team", "owner"},
		Refs: func(t *task) []repo.Key { return []repo.Key{{t.Team, t.Owner}} },
		Copy: func(_ context.Context, t *task, of []*person) error {
			if t.Name = "-"; of[0] != nil {
				t.Name = of[0].Name
			}
			if t.Name == "refused" {
				return errors.New("no such name")
			}
			return nil
		},
	}))
	must(t, copies.Declare(p.tasks, p.people, copies.Rule[task, person]{
		By: []string{"team", "helpers[]"},
		Refs: func(t *task) (keys []repo.Key) {
			for _, id := range t.Helpers {
				keys = append(keys, repo.Key{t.Team, id})
			}
			return keys
		},
		Copy: func(_ context.Context, t *task, of []*person) error {
			if t.Names == nil {
				t.Names = map[string]string{}
			}
			clear(t.Names)
			for i, p := range of {
				if p != nil {
					t.Names[t.Helpers[i]] = p.Name
				}
			}
			return nil
		},
	}))
	return p
}

// on runs a test with tasks beside their people and elsewhere, on memory and on memory that behaves like a cluster.
func on(t *testing.T, test func(t *testing.T, backend driver.Store, tasks repo.Schema)) {
	scope := driver.ScopePartition
	for name, options := range map[string]*memory.Options{"memory": nil, "cluster": {Scope: &scope}} {
		for at, tasks := range map[string]repo.Schema{"near": near, "far": far} {
			t.Run(name+"/"+at, func(t *testing.T) { test(t, memory.New(options), tasks) })
		}
	}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func good[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}

func isKind(t *testing.T, err, kind error) {
	t.Helper()
	if _, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, kind) {
		t.Errorf("%v; want %v", err, kind)
	}
}

// differing returns the keys of the tasks whose copies differ.
func (p *program) differing(t testing.TB) (keys []repo.Key) {
	t.Helper()
	for c, err := range p.tasks.Verify(t.Context(), "") {
		must(t, err)
		keys = append(keys, c.Differ...)
	}
	return keys
}

// settled follows what is due, and says what is wrong then.
func (p *program) settled(t testing.TB) {
	t.Helper()
	differ, due := p.differing(t), good(p.people.Due(t.Context()))(t)
	if len(differ) > 0 && due.Count == 0 {
		t.Errorf("the copies of %v differ, and nothing is due", differ)
	}
	good(p.people.Follow(t.Context()))(t)
	if differ = p.differing(t); len(differ) > 0 {
		t.Errorf("the copies of %v differ after all was followed", differ)
	}
	if due = good(p.people.Due(t.Context()))(t); due != (copies.Due{}) {
		t.Errorf("%+v is due after all was followed", due)
	}
}

func (p *program) put(t testing.TB, id, name string) {
	t.Helper()
	must(t, p.people.Put(t.Context(), &person{Team: "t", ID: id, Name: name}))
}

func (p *program) add(t testing.TB, id, owner string, helpers ...string) {
	t.Helper()
	must(t, p.tasks.Put(t.Context(), &task{Team: "t", ID: id, Owner: owner, Helpers: helpers}))
}

// want says what a task has by now.
func (p *program) want(t testing.TB, id, name string) {
	t.Helper()
	one := good(p.tasks.Records().Get(t.Context(), p.key(id)))(t)
	if got := strings.TrimSuffix(fmt.Sprint(one.Name, " ", one.Names), " map[]"); got != name {
		t.Errorf("task %s has %q, want %q", id, got, name)
	}
}

// An update sees what others wrote meanwhile, also if it writes the record anew, and keeps the key.
func TestUpdates(t *testing.T) {
	on(t, func(t *testing.T, backend driver.Store, tasks repo.Schema) {
		ctx, p, calls := t.Context(), open(t, backend, tasks, nil), 0
		p.put(t, "ann", "Ann")
		p.add(t, "1", "ann")
		good(p.tasks.Update(ctx, p.key("1"), func(x *task) error {
			if calls++; calls == 1 {
				good(p.tasks.Records().Patch(ctx, p.key("1"), repo.Set("done", true)))(t)
			}
			*x = task{Team: "t", ID: "1", Owner: "ann", Done: x.Done}
			return nil
		}))(t)
		good(p.people.Update(ctx, ann, func(x *person) error {
			if calls++; calls == 3 {
				good(p.people.Records().Patch(ctx, ann, repo.Add("seen", 1)))(t)
			}
			*x = person{Team: "t", ID: "ann", Name: "Anna", Seen: x.Seen}
			return nil
		}))(t)
		p.settled(t)
		x, a := good(p.tasks.Records().Get(ctx, p.key("1")))(t), good(p.people.Records().Get(ctx, ann))(t)
		if calls != 4 || !x.Done || x.Name != "Anna" || a.Seen != 1 {
			t.Errorf("after %d calls: %+v, %+v", calls, x, a)
		}
		_, err := p.tasks.Update(ctx, p.key("1"), func(x *task) error { x.ID = "2"; return nil })
		isKind(t, err, repo.ErrInvalid)
		_, err = p.people.Update(ctx, ann, func(x *person) error { x.ID = "bob"; return nil })
		isKind(t, err, repo.ErrInvalid)
	})
}

// Copies are there when a record is written, and follow by each kind of write.
func TestCopiesFollow(t *testing.T) {
	on(t, func(t *testing.T, backend driver.Store, tasks repo.Schema) {
		ctx, p := t.Context(), open(t, backend, tasks, nil)
		must(t, p.people.Insert(ctx, &person{Team: "t", ID: "ann", Name: "Ann"}))
		isKind(t, p.people.Insert(ctx, &person{Team: "t", ID: "ann", Name: "Ann"}), repo.ErrExists)
		p.put(t, "bob", "Bob")
		mine := task{Team: "t", ID: "1", Owner: "ann", Helpers: []string{"bob", "cid"}}
		must(t, p.tasks.Insert(ctx, &mine))
		if mine.Name != "Ann" || mine.Names["bob"] != "Bob" || mine.Version.IsZero() {
			t.Errorf("the record of the caller is %+v", mine)
		}
		isKind(t, p.tasks.Insert(ctx, &task{Team: "t", ID: "1"}), repo.ErrExists)
		p.want(t, "1", "Ann map[bob:Bob]")
		step := func(want string, err error) {
			t.Helper()
			must(t, err)
			good(p.people.FollowOne(ctx, ann))(t)
			p.settled(t)
			p.want(t, "1", want)
		}
		step("Ann map[bob:Bob cid:Cid]", p.people.Put(ctx, &person{Team: "t", ID: "cid", Name: "Cid"}))
		_, err := p.people.Update(ctx, ann, func(a *person) error { a.Name += "a"; return nil })
		step("Anna map[bob:Bob cid:Cid]", err)
		step("Anna map[cid:Cid]", p.people.Delete(ctx, repo.Key{"t", "bob"}))
		g := p.store.Group()
		p.people.Records().In(g).Patch(ann, repo.Set("name", "Anne"))
		p.people.Changed(g, ann)
		step("Anne map[cid:Cid]", g.Commit(ctx))
		_, err = p.tasks.Update(ctx, p.key("1"), func(one *task) error { one.Owner, one.Helpers = "cid", []string{"ann", "cid"}; return nil })
		step("Cid map[ann:Anne cid:Cid]", err)
		step("Cid map[cid:Cid]", p.people.Delete(ctx, ann))
		step("- map[]"[:1], errors.Join(p.people.Delete(ctx, repo.Key{"t", "cid"}), p.people.Delete(ctx, repo.Key{"t", "cid"})))
		must(t, p.tasks.Records().Delete(ctx, p.key("1")))
		p.put(t, "ann", "Ann")
		p.settled(t)
	})
}
