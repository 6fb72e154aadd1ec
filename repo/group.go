package repo

import (
	"context"
	"errors"
	"reflect"

	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
)

// A Group is several writes that are done together or not at all. They may be of several
// collections of one [Store]: see [Group.Commit]. It is for one goroutine and one Commit: who tries again makes a
// new group. Make one with [Store.Group], and add writes to it with [Repo.In].
//
// A value of a unique index passes from one record of the group to another only where
// the index changes in the same commit. Where it is put before it ([Repo.ExplainWrites]
// says so), the value is taken as long as the one has it, and Commit fails with ErrExists:
// let the one give it up by a write of its own first.
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

// AcrossPartitions lets a Group have records of any partitions. Without it a group keeps to one partition,
// as every store could do it. A store that cannot change several partitions at once refuses each group
// that asks for it, with ErrUnsupported, whatever records are in it.
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

// In returns what adds writes on records of r to a group. Nothing is done before [Group.Commit], which also
// tells of what is wrong with a write.
func (r *Repo[T]) In(g *Group) Writes[T] { return Writes[T]{g, r.on().c} }

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

// Update adds to the group what [Repo.Update] does. So a record can be a condition of the others: an
// error of fn, which sees the record as it is in the same commit, is that of Commit, and nothing is
// written. Where another writer was faster with a record of the group, fn is called again.
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

// Check adds a condition to the group: that a record is there when the others are written, and with
// IfVersion that it has that version. The record is not written, and keeps its version. If it is not there, or has
// expired, Commit fails with ErrNotFound, and with ErrConflict if it has another version. With [IfAbsent] the
// record must not be there, and one that is makes Commit fail with ErrExists; one that has expired is not there.
//
// Where another writer was faster with the record, Commit looks at it again, as at the others of the group.
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
	g.writes, g.told = append(g.writes, w), append(g.told, told{c, verb, fill})
}

// Commit does all writes of the group, or none, and fills the version fields. Each record may be named once.
//
// All records must be of one partition: their keys have the same values of the schema's Partition. They may be
// of several collections that lie together ([Schema].With), on a store whose Unit is the whole store
// (see [driver.Facts]) of any collections, and there with [AcrossPartitions] of any partitions. Other stores answer
// ErrUnsupported. A collection is in a group by one repository. A group that is too large for the store ([driver.Facts].MaxOps and MaxBytes) is ErrTooLarge: split it.
//
// The error of the first write that cannot be done is returned, and Error.Collection and Error.Key say of which record:
// of those whose key cannot be, because the record is there, or is not, or has another version, before those whose
// unique values are taken. After ErrUnknownOutcome the [Repo] of Error.Collection resolves Error.Outcome for the
// whole group. A second Commit is ErrInvalid, whatever became of the first: make a new group.
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
