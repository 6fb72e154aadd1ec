package repo_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A nilCall is a call of the API with an argument that is nil.
type nilCall struct {
	name string // "Repo.Insert: the record"
	want string // in the error; "" where nil is a good argument
	do   func() error
}

func nilCallsOfRepo(r *repo.Repo[post], m *repo.Repo[map[string]any]) []nilCall {
	ctx, key := context.Background(), repo.Key{"ann", "P1"}
	group := func(add func(in repo.Writes[post])) func() error {
		return func() error {
			g := r.Store().Group()
			in := r.In(g)
			add(in)
			return g.Commit(ctx)
		}
	}
	var none map[string]any
	return []nilCall{
		{"Repo.Insert: record", "nil pointer", func() error { return r.Insert(ctx, nil) }},
		{"Repo.Replace: record", "nil pointer", func() error { return r.Replace(ctx, nil) }},
		{"Repo.Put: record", "nil pointer", func() error { return r.Put(ctx, nil) }},
		{"Repo.Put: option", "option 1", func() error { return r.Put(ctx, &post{Author: "a", ID: "b"}, nil) }},
		{"Repo.Insert: nil map", "map", func() error { return m.Insert(ctx, &none) }},
		{"Repo.Put: nil map", "map", func() error { return m.Put(ctx, &none) }},
		{"Repo.Update: map made nil", "map", func() error {
			rec := map[string]any{"id": "a"}
			if err := m.Put(ctx, &rec); err != nil {
				return err
			}
			_, err := m.Update(ctx, repo.Key{"a"}, func(rec *map[string]any) error { *rec = nil; return nil })
			return err
		}},
		{"Repo.Update: fn", "the function is nil", func() error { _, err := r.Update(ctx, key, nil); return err }},
		{"Repo.Update: option", "option 1", func() error { _, err := r.Update(ctx, key, func(*post) error { return nil }, nil); return err }},
		{"Repo.Delete: key", "key", func() error { return r.Delete(ctx, nil) }},
		{"Repo.Delete: part of the key", "author", func() error { return r.Delete(ctx, repo.Key{nil, nil}) }},
		{"Repo.Delete: option", "option 1", func() error { return r.Delete(ctx, key, nil) }},
		{"Repo.Get: key", "key", func() error { _, err := r.Get(ctx, nil); return err }},
		{"Repo.Exists: key", "key", func() error { _, err := r.Exists(ctx, nil); return err }},
		{"Repo.GetMany: keys", "", func() error { _, _, err := r.GetMany(ctx, nil); return err }},
		{"Repo.GetMany: a key", "key", func() error { _, _, err := r.GetMany(ctx, []repo.Key{nil}); return err }},
		{"Repo.Patch: key", "key", func() error { _, err := r.Patch(ctx, nil, repo.Set("title", "x")); return err }},
		{"Repo.Patch: edits", "edit", func() error { _, err := r.Patch(ctx, key); return err }},
		{"Repo.Patch: zero edit", "field", func() error { _, err := r.Patch(ctx, key, repo.Edit{}); return err }},
		{"Repo.Resolve: outcome", "names no write", func() error { _, err := r.Resolve(ctx, nil); return err }},
		{"Repo.InsertAll: records", "the sequence is nil", func() error { _, err := r.InsertAll(ctx, nil); return err }},
		{"Collect: seq", "the sequence is nil", func() error { _, err := repo.Collect[post](nil); return err }},
		{"Where: value", "author", func() error { _, err := repo.Collect(r.Find(ctx, repo.Where("author", nil))); return err }},
		{"Range: values", "", func() error {
			_, err := repo.Collect(r.Find(ctx, repo.Where("author", "ann").Range("id", nil, nil)))
			return err
		}},
		{"Order: fields", "", func() error { _, err := repo.Collect(r.Find(ctx, repo.Where("author", "ann").Order())); return err }},
		{"Writes.Insert: record", "nil pointer", group(func(in repo.Writes[post]) { in.Insert(nil) })},
		{"Writes.Replace: record", "nil pointer", group(func(in repo.Writes[post]) { in.Replace(nil) })},
		{"Writes.Put: record", "nil pointer", group(func(in repo.Writes[post]) { in.Put(nil) })},
		{"Writes.Put: option", "option 1", group(func(in repo.Writes[post]) { in.Put(&post{Author: "a", ID: "b"}, nil) })},
		{"Writes.Delete: key", "key", group(func(in repo.Writes[post]) { in.Delete(nil) })},
		{"Writes.Delete: option", "option 1", group(func(in repo.Writes[post]) { in.Delete(key, nil) })},
		{"ViewOf: Repo", "the Repo or View is nil", func() error { _, err := repo.ViewOf[postView, post](nil); return err }},
	}
}

type postView struct {
	Title string `repo:"title"`
}

func nilCallsOfStore(store *repo.Store) []nilCall {
	ctx := context.Background()
	dead := repo.NewStore(nil, nil)
	typed := repo.NewStore((*memory.Store)(nil), &repo.Options{})
	open := func(s *repo.Store, opts ...repo.OpenOption) func() error {
		return func() error { _, err := repo.Open[post](ctx, s, blogSchema(), opts...); return err }
	}
	return []nilCall{
		{"Open: store", "the store is nil", open(nil)},
		{"Open: option", "option 1", open(store, nil)},
		{"NewStore: backend", "the backend given to NewStore is nil", open(dead)},
		{"NewStore: nil pointer as backend", "the backend given to NewStore is nil", open(typed)},
		{"NewStore: backend, then Close", "the backend given to NewStore is nil", dead.Close},
		{"SchemaOf: store", "the store is nil", func() error { _, err := repo.SchemaOf(ctx, nil, "posts"); return err }},
		{"Collections: store", "the store is nil", func() error { _, err := repo.Collections(ctx, nil); return err }},
		{"DropIndex: store", "the store is nil", func() error { return repo.DropIndex(ctx, nil, "posts", "x") }},
		{"DropCollection: store", "the store is nil", func() error { return repo.DropCollection(ctx, nil, "posts") }},
		{"Check: zero facts and schema", "collection name", func() error { return repo.Check[post](driver.Facts{}, repo.Schema{}) }},
		{"PlanWrites: zero facts and schema", "collection name", func() error { _, err := repo.PlanWrites[post](driver.Facts{}, repo.Schema{}); return err }},
		{"Open: zero schema", "collection name", func() error { _, err := repo.Open[post](ctx, store, repo.Schema{}); return err }},
	}
}

// No argument that is nil makes the API panic: it is a good one, or the caller's mistake,
// which the error names.
func TestNilArguments(t *testing.T) {
	store := newStore(t, nil)
	r, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	m, err := repo.Open[map[string]any](t.Context(), store, repo.Schema{Collection: "maps", Partition: []string{"id"}, Fields: map[string]string{"id": "string"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(nilCallsOfRepo(r, m), nilCallsOfStore(store)...) {
		err := unpanicked(c.do)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v, want success", c.name, err)
		case c.want != "" && (!errors.Is(err, repo.ErrInvalid) && !errors.Is(err, repo.ErrSchema) || !strings.Contains(fmt.Sprint(err), c.want)):
			t.Errorf("%s: %v, want ErrInvalid with %q", c.name, err, c.want)
		}
	}
}

// unpanicked returns a panic as an error.
func unpanicked(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	return do()
}

// Every method that takes a context says so if there is none. The methods are found by
// reflection, so that none is forgotten.
func TestNilContext(t *testing.T) {
	store := newStore(t, nil)
	r, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	view, err := repo.ViewOf[postView](r)
	if err != nil {
		t.Fatal(err)
	}
	group := r.Store().Group()
	groupIn := r.In(group)
	groupIn.Insert(&post{Author: "ann", ID: "P1"})
	tried, args := 0, good()
	delete(args, reflect.TypeFor[context.Context]())
	key := repo.Key{"ann", "P1"}
	args[reflect.TypeFor[repo.Key]()], args[reflect.TypeFor[[]repo.Key]()] = key, []repo.Key{key}
	for _, of := range []any{r, view, group} {
		v := reflect.ValueOf(of)
		for i := range v.NumMethod() {
			name, m := v.Type().Method(i).Name, v.Method(i)
			if m.Type().NumIn() == 0 || m.Type().In(0) != reflect.TypeFor[context.Context]() {
				continue
			}
			tried++
			if err := unpanicked(func() error { return called(m, argsOf(m.Type(), args)) }); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "the context is nil") {
				t.Errorf("%T.%s: %v, want ErrInvalid that names the context", of, name, err)
			}
		}
	}
	if tried < 25 {
		t.Errorf("%d methods take a context: some are not found", tried)
	}
	var none context.Context
	schema := func() error { _, err := repo.SchemaOf(none, store, "posts"); return err }
	open := func() error { _, err := repo.Open[post](none, store, blogSchema()); return err }
	for name, do := range map[string]func() error{"SchemaOf": schema, "Open": open,
		"Collections":    func() error { _, err := repo.Collections(none, store); return err },
		"DropIndex":      func() error { return repo.DropIndex(none, store, "posts", "x") },
		"DropCollection": func() error { return repo.DropCollection(none, store, "posts") }} {
		if err := unpanicked(do); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "the context is nil") {
			t.Errorf("%s: %v, want ErrInvalid that names the context", name, err)
		}
	}
}
