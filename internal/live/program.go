package live

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo"
)

const collection, home = "people", "h"

// A person is a record as the newest programs know it.
type person struct {
	Home    string       `repo:"home"`
	ID      string       `repo:"id"`
	Kind    string       `repo:"kind"`
	N       int64        `repo:"n"`
	Version repo.Version `repo:",version"`
}

// A stranger is a record as the oldest programs know it, which have no kinds.
type stranger struct {
	Home string `repo:"home"`
	ID   string `repo:"id"`
	N    int64  `repo:"n"`
}

// A verb is what a call does.
type verb string

const (
	insert  verb = "insert"
	put     verb = "put"
	update  verb = "update"
	remove  verb = "delete"
	patch   verb = "patch"
	blind   verb = "blind" // a patch that need not read
	group   verb = "group"
	putAll  verb = "bulk"    // of new keys and of one that is there
	addAll  verb = "bulknew" // of new keys
	readAll verb = "find"
)

// A program has the collection open.
type program struct {
	*process
	store *repo.Store
	door  door
}

// A door is a repository of some type.
type door interface {
	// do makes a call on some records, which are as they shall be.
	do(ctx context.Context, v verb, list []person) error
	ping(ctx context.Context)
}

// openOf opens the collection as a program that declares some indexes.
func openOf[T any](ctx context.Context, b *base, s *stop, of func(*T, person), indexes []repo.Index, opts ...repo.OpenOption) (*program, *repo.Repo[T], error) {
	p := &process{base: b, stop: s}
	store := repo.NewStore(p, nil)
	r, err := repo.Open[T](ctx, store, schemaOf(indexes), opts...)
	if err != nil {
		return nil, nil, err
	}
	return &program{process: p, store: store, door: &doorOf[T]{r, of}}, r, nil
}

func schemaOf(indexes []repo.Index) repo.Schema {
	return repo.Schema{Collection: collection, Partition: []string{"home"}, Sort: []string{"id"}, Indexes: indexes}
}

// A doorOf calls a repository of one type.
type doorOf[T any] struct {
	r  *repo.Repo[T]
	of func(*T, person) // sets what a T has of a person
}

func setPerson(p *person, to person) { p.Home, p.ID, p.Kind, p.N = to.Home, to.ID, to.Kind, to.N }

func setStranger(s *stranger, to person) { *s = stranger{to.Home, to.ID, to.N} }

func (d *doorOf[T]) record(p person) *T {
	var t T
	d.of(&t, p)
	return &t
}

func keyOf(p person) repo.Key { return repo.Key{p.Home, p.ID} }

func (d *doorOf[T]) ping(ctx context.Context) { _, _ = d.r.Exists(ctx, repo.Key{home, "nobody"}) }

func (d *doorOf[T]) change(p person) func(*T) error {
	return func(t *T) error { d.of(t, p); return nil }
}

func (d *doorOf[T]) edits(p person) []repo.Edit {
	edits := []repo.Edit{repo.Set("n", p.N)}
	if _, ok := any(*new(T)).(person); ok {
		edits = append(edits, repo.Set("kind", p.Kind))
	}
	return edits
}

func (d *doorOf[T]) do(ctx context.Context, v verb, list []person) (err error) {
	p := list[0]
	switch v {
	case insert:
		err = d.r.Insert(ctx, d.record(p))
	case put:
		err = d.r.Put(ctx, d.record(p))
	case update:
		_, err = d.r.Update(ctx, keyOf(p), d.change(p))
	case remove:
		err = d.r.Delete(ctx, keyOf(p))
	case patch:
		_, err = d.r.Patch(ctx, keyOf(p), d.edits(p)...)
	case blind:
		_, err = d.r.PatchBlind(ctx, keyOf(p), d.edits(p)...)
	case group:
		g := d.r.Store().Group()
		w := d.r.In(g)
		w.Update(keyOf(p), d.change(p))
		w.Delete(keyOf(list[1]))
		w.Put(d.record(list[2]))
		err = g.Commit(ctx)
	case putAll, addAll:
		_, err = d.r.PutAll(ctx, func(yield func(T, error) bool) {
			for _, p := range list {
				if !yield(*d.record(p), nil) {
					return
				}
			}
		})
	default:
		err = fmt.Errorf("no verb %q", v)
	}
	return err
}
