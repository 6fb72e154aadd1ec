package repo

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
)

// A Group is several writes on records of one partition that are done together or
// not at all. It is for one goroutine and one Commit. Make one with [Repo.Group].
//
// A value of a unique index passes from one record of the group to another only where
// the index changes in the same commit. Where it is put before it ([Repo.ExplainWrites]
// says so), the value is taken as long as the one has it, and Commit fails with ErrExists:
// let the one give it up by a write of its own first.
type Group[T any] struct {
	repo   *Repo[T]
	writes []commit.Write
	fill   []*T // by write: the record whose version field is filled, or nil
	errs   []error
}

// Group returns an empty Group.
func (r *Repo[T]) Group() *Group[T] { return &Group[T]{repo: r} }

// Insert adds to the group what [Repo.Insert] does.
func (g *Group[T]) Insert(record *T) { g.add(commit.DoInsert, record, nil) }

// Replace adds to the group what [Repo.Replace] does.
func (g *Group[T]) Replace(record *T, opts ...WriteOption) { g.add(commit.DoReplace, record, opts) }

// Put adds to the group what [Repo.Put] does.
func (g *Group[T]) Put(record *T, opts ...WriteOption) { g.add(commit.DoPut, record, opts) }

// Update adds to the group what [Repo.Update] does. So a record can be a condition of the others: an
// error of fn, which sees the record as it is in the same commit, is that of Commit, and nothing is
// written. Where another writer was faster with a record of the group, fn is called again.
func (g *Group[T]) Update(key Key, fn func(*T) error, opts ...WriteOption) {
	rec, next := new(T), new(record.Record)
	w, err := g.repo.c.WriteOfKey(commit.DoUpdate, key)
	if err == nil {
		err = want(&w, opts)
	}
	if fn == nil {
		err = failure.Invalid("the function is nil")
	}
	w.Derive = func(w *commit.Write) error {
		w.Next = next
		return g.repo.c.Derive(w, reflect.ValueOf(rec).Elem(), func() error { return fn(rec) })
	}
	g.push("update", w, rec, err)
}

// Patch adds to the group what [Repo.Patch] does.
func (g *Group[T]) Patch(key Key, edits ...Edit) {
	var w commit.Write
	err := g.repo.c.PatchOf(&w, key, defsOf(nil, edits))
	g.push("patch", w, nil, err)
}

// Delete adds to the group what [Repo.Delete] does.
func (g *Group[T]) Delete(key Key, opts ...WriteOption) {
	w, err := g.repo.c.WriteOfKey(commit.DoDelete, key)
	if err == nil {
		err = want(&w, opts)
	}
	g.push("delete", w, nil, err)
}

func (g *Group[T]) add(verb commit.Verb, record *T, opts []WriteOption) {
	var w commit.Write
	err := failure.Invalid("a record is a nil pointer")
	if record != nil {
		w, err = g.repo.c.WriteOf(verb, reflect.ValueOf(record).Elem())
	}
	if err == nil {
		err = want(&w, opts)
	}
	g.push("", w, record, err)
}

// push adds a write, or what is wrong with it; fill is the record whose version field is filled, or nil.
func (g *Group[T]) push(verb string, w commit.Write, fill *T, err error) {
	if err != nil {
		if verb != "" {
			verb += ", "
		}
		g.errs = append(g.errs, fmt.Errorf("%swrite %d of the group: %w", verb, len(g.writes)+len(g.errs), err))
		return
	}
	g.writes, g.fill = append(g.writes, w), append(g.fill, fill)
}

// Commit does all writes of the group, or none, and fills the version fields. All
// records must be of one partition, and each may be named once. A group that is too large
// for the store ([driver.Facts].MaxOps and MaxBytes) is ErrTooLarge: split it. The error of the
// first write that cannot be done is returned: of those whose key cannot be, because the
// record is there, or is not, or has another version, before those whose unique values are
// taken.
func (g *Group[T]) Commit(ctx context.Context) error {
	k := g.repo.c.begin("commit")
	err := errors.Join(g.errs...)
	if err == nil {
		err = g.check(ctx)
	}
	if err != nil || len(g.writes) == 0 {
		return g.repo.c.end(&k, nil, err)
	}
	version, err := g.repo.c.Run(ctx, &k, g.writes)
	if err != nil {
		return g.repo.c.end(&k, nil, err)
	}
	for i, rec := range g.fill {
		if rec != nil {
			g.repo.c.Shape.Written(reflect.ValueOf(rec).Elem(), g.writes[i].Next, version)
		}
	}
	return g.repo.c.end(&k, nil, nil)
}

func (g *Group[T]) check(ctx context.Context) error {
	if ctx == nil {
		return failure.ErrNoContext
	}
	if f := &g.repo.c.Store.Facts; f.MaxOps > 0 && len(g.writes) > max(f.MaxOps, 1) {
		return commit.TooManyRows(f, len(g.writes), len(g.writes))
	}
	if f := &g.repo.c.Store.Facts; len(g.writes) > 1 && f.Unit == driver.UnitRecord {
		return fmt.Errorf("%s changes one record at a time, and the group has %d; commit them one by one: %w", f.Name, len(g.writes), ErrUnsupported)
	}
	seen := make(map[string]bool, len(g.writes))
	for i := range g.writes {
		key := g.writes[i].Key
		if key.Partition != g.writes[0].Key.Partition {
			return failure.OfKey(key, failure.Invalid("a group changes records of one partition, and this one is in another than the first"))
		}
		if seen[key.Sort] {
			return failure.OfKey(key, failure.Invalid("the record is named twice in the group"))
		}
		if seen[key.Sort] = true; i%1000 == 0 && ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ErrTimeout, context.Cause(ctx))
		}
	}
	return nil
}
