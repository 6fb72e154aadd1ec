package repo

import (
	"context"
	"errors"
	"reflect"

	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
)

// A Group is several writes that are done together or not at all. The writes may be of several
// collections of one [Store]: see [Group.Commit]. Make a group with [Store.Group], and add writes
// with [Repo.In]. A group is for one goroutine and one Commit: make a new group for a new attempt.
//
// A value of a unique index passes from one record of the group to another only where the index
// changes in the commit of the group. Where the index is written before that commit
// ([Repo.ExplainWrites] says so), the value stays taken, and Commit fails with ErrExists: let the
// first record give up the value in an earlier write.
type Group struct {
	store  *Store
	across bool
	writes []commit.Write
	told   []told
	errs   []error
	bad    *collection // that of the first of errs
	over   bool        // Commit was called
}

// told is what is said of a write, and to whom.
type told struct {
	c    *collection
	verb string
	fill reflect.Value // the record whose version field is filled, if it is valid
}

// A GroupOption changes what a [Group] may do.
type GroupOption func(*Group)

// AcrossPartitions lets a Group have records of any partitions. Without this option a group keeps
// to one partition. A store that cannot change several partitions at once refuses every group with
// this option, with ErrUnsupported, whatever records the group has.
func AcrossPartitions() GroupOption { return func(g *Group) { g.across = true } }

// Group returns an empty Group.
func (s *Store) Group(opts ...GroupOption) *Group {
	g := &Group{store: s}
	for i, opt := range opts {
		if opt == nil {
			g.errs = append(g.errs, failure.Invalid("option %d of the group is nil", i+1))
			continue
		}
		opt(g)
	}
	return g
}

// Writes adds writes on the records of one collection to a [Group]. Make one with [Repo.In].
type Writes[T any] struct {
	g *Group
	c *collection
}

// In returns a Writes, which adds writes on records of r to a group. Nothing is written before
// [Group.Commit], which also returns the error of an invalid write. Commit the group soon: one that was
// made before the indexes of a collection changed is ErrConflict after some seconds, and is to be made again.
func (r *Repo[T]) In(g *Group) Writes[T] { return Writes[T]{g, r.on().c.current(context.Background())} }

// in returns the collection of w.
func (w Writes[T]) in() *collection {
	if w.c == nil {
		return nothing()
	}
	return w.c
}

// Insert adds to the group what [Repo.Insert] does.
func (w Writes[T]) Insert(record *T) { w.put("insert", commit.DoInsert, record, nil) }

// Replace adds to the group what [Repo.Replace] does.
func (w Writes[T]) Replace(record *T, opts ...WriteOption) {
	w.put("replace", commit.DoReplace, record, opts)
}

// Put adds to the group what [Repo.Put] does.
func (w Writes[T]) Put(record *T, opts ...WriteOption) { w.put("put", commit.DoPut, record, opts) }

// Update adds to the group what [Repo.Update] does. Fn sees the record as it is in the commit of
// the group, so the record can be a condition of the other writes: Commit returns an error of fn,
// and nothing is written. When another writer was faster with a record of the group, fn is called
// again.
func (w Writes[T]) Update(key Key, fn func(*T) error, opts ...WriteOption) {
	rec, next := new(T), new(record.Record)
	into := reflect.ValueOf(rec).Elem()
	write, err := w.in().WriteOfKey(commit.DoUpdate, key)
	if fn == nil {
		err = failure.Invalid("the function is nil")
	}
	write.Derive = func(one *commit.Write) error {
		one.Next = next
		return w.in().Derive(one, into, func() error { return fn(rec) })
	}
	w.g.add(w.in(), "update", write, into, err, opts)
}

// Patch adds to the group what [Repo.Patch] does.
func (w Writes[T]) Patch(key Key, edits ...Edit) {
	var write commit.Write
	err := w.in().PatchOf(&write, key, defsOf(nil, edits))
	w.g.add(w.in(), "patch", write, reflect.Value{}, err, nil)
}

// Delete adds to the group what [Repo.Delete] does.
func (w Writes[T]) Delete(key Key, opts ...WriteOption) {
	write, err := w.in().WriteOfKey(commit.DoDelete, key)
	w.g.add(w.in(), "delete", write, reflect.Value{}, err, opts)
}

// Check adds a condition to the group: a record is there when the others are written and, with
// IfVersion, has that version. The record is not written, and keeps its version. Commit fails with
// ErrNotFound if the record is not there or has expired, and with ErrConflict if it has another
// version. With [IfAbsent] the record must not be there: then Commit fails with ErrExists if the
// record is there and has not expired.
//
// When another writer was faster with the record, Commit looks at the record again, as at all
// records of the group.
func (w Writes[T]) Check(key Key, opts ...WriteOption) {
	write, err := w.in().WriteOfKey(commit.DoCheck, key)
	w.g.add(w.in(), "check", write, reflect.Value{}, err, opts)
}

func (w Writes[T]) put(verb string, do commit.Verb, record *T, opts []WriteOption) {
	if record == nil {
		w.g.add(w.in(), verb, commit.Write{}, reflect.Value{}, failure.Invalid("a record is a nil pointer"), nil)
		return
	}
	rec := reflect.ValueOf(record).Elem()
	write, err := w.in().WriteOf(do, rec)
	w.g.add(w.in(), verb, write, rec, err, opts)
}

// usualWrites is for how many writes a group makes room when it gets the first.
const usualWrites = 2

// add adds a write, or what is wrong with it; fill is the record whose version field is filled, if it is valid.
func (g *Group) add(c *collection, verb string, w commit.Write, fill reflect.Value, err error, opts []WriteOption) {
	if g == nil {
		return // Commit of nil says what is wrong
	}
	if !c.opened() {
		err = failure.ErrNotOpened
	}
	if err == nil {
		err = want(&w, opts)
	}
	if err == nil && c.of != g.store {
		err = failure.Invalid("the repository of collection %s is of another Store than the group", c.Name)
	}
	if err != nil {
		if k, ok := errors.AsType[*failure.Keyed](err); ok {
			k.In = c.Name
		}
		err = numbered(verb, len(g.writes)+len(g.errs), err)
		if g.errs = append(g.errs, err); g.bad == nil {
			g.bad = c
		}
		return
	}
	if g.writes == nil {
		g.writes, g.told = make([]commit.Write, 0, usualWrites), make([]told, 0, usualWrites)
	}
	g.writes, g.told = append(g.writes, w), append(g.told, told{c, verb, fill})
}

// Commit does all writes of the group, or none, and fills the version fields. Each record may be named once.
//
// All records must be of one partition: their keys have the same values of the schema's Partition.
// The records may be of several collections that lie together ([Schema].With). On a store whose
// Scope is the whole store (see [driver.Facts]) they may be of any collections and, with
// [AcrossPartitions], of any partitions. Other stores answer ErrUnsupported. All writes on one
// collection come from one repository. A group that is too large for the store
// ([driver.Facts].MaxOps and MaxBytes) is ErrTooLarge: split it.
//
// Commit returns the error of the first write that cannot be done; Error.Collection and Error.Key
// name its record. Errors about the record itself (the record is there, is not there, or has
// another version) come before errors about unique values. After ErrUnknownOutcome the [Repo] of
// Error.Collection resolves Error.Outcome for the whole group. A second Commit is ErrInvalid,
// whatever became of the first: make a new group.
func (g *Group) Commit(ctx context.Context) error {
	if g == nil || g.store == nil || g.store.handle.Driver == nil {
		return &Error{Op: "commit", Err: failure.Invalid("the group is nil, or not of a Store; make one with Store.Group")}
	}
	all := g.collections()
	ctx, k := g.store.handle.Begin(ctx, "commit", namesOf(all, "+"))
	defer k.Leave()
	k.Tick(&g.store.handle)
	k.Takes(len(g.writes))
	for _, c := range all {
		c.Renew()
	}
	err := errors.Join(g.errs...)
	if g.over {
		err = failure.Invalid("a group is for one Commit, and this one had it; make a new group, with all its writes")
	}
	if g.over = true; err == nil {
		err = g.check(ctx, all)
	}
	if err != nil || len(g.writes) == 0 {
		return g.end(&k, all, err)
	}
	version, err := commit.Run(ctx, &k, g.writes)
	if err != nil {
		return g.end(&k, all, err)
	}
	for i := range g.writes {
		if t := &g.told[i]; t.fill.IsValid() {
			t.c.Shape.Written(t.fill, g.writes[i].Next, version)
		}
	}
	return g.end(&k, all, nil)
}
