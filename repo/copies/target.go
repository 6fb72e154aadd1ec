package copies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo"
)

// A Target is records that have copies of the fields of others. Many goroutines and programs may use a Target of one
// collection at once. Make one with [OpenTarget].
type Target[X any] struct {
	place
	records *repo.Repo[X]
	id      func(*X) (repo.Key, repo.Version)
	due     *list // nil where one commit has a target and its sources
	rules   []filler[X]
}

// A filler fills the copies of one source into records. An error about a record is that of its item.
type filler[X any] interface {
	fill(ctx context.Context, list []*item[X], now *given) error
}

// A seen is a source of a record as it was read.
type seen struct {
	id      string
	version repo.Version // zero if it was not there
	isNear  func(key repo.Key, p *place) bool
	check   func(g *repo.Group)
}

// OpenTarget opens a collection of records with copies, which is made if it is not there. On a store that commits a
// partition at a time it opens another one beside it, with "_confirm" behind the name. Id returns the key and the
// version of a record, which has a version field.
func OpenTarget[X any](ctx context.Context, store *repo.Store, schema repo.Schema, id func(*X) (repo.Key, repo.Version), opts ...repo.OpenOption) (*Target[X], error) {
	if id == nil {
		return nil, failed("open", schema.Collection, fmt.Errorf("the function is nil: %w", repo.ErrInvalid))
	}
	records, err := repo.Open[X](ctx, store, schema, opts...)
	if err != nil {
		return nil, err
	}
	t := &Target[X]{place: placeOf(store, schema), records: records, id: id}
	if !t.isWhole() {
		t.due, err = openList(ctx, t.place, noteSuffix, opts)
	}
	return t, err
}

// Records returns the plain repository of the records, for reads, queries and deletes, and for patches of other fields
// than copies and the references that they go by.
func (t *Target[X]) Records() *repo.Repo[X] { return t.records }

// Insert adds a record with its copies, as [repo.Repo.Insert] does: it reads the sources, and fills the copies in the
// caller's record.
func (t *Target[X]) Insert(ctx context.Context, record *X) error {
	return t.put(ctx, record, func(w repo.Writes[X], x *X) { w.Insert(x) })
}

// Put writes a record with its copies, as [repo.Repo.Put] does: see [Target.Insert].
func (t *Target[X]) Put(ctx context.Context, record *X, opts ...repo.WriteOption) error {
	return t.put(ctx, record, func(w repo.Writes[X], x *X) { w.Put(x, opts...) })
}

func (t *Target[X]) put(ctx context.Context, record *X, add func(repo.Writes[X], *X)) error {
	if record == nil {
		return failed("put", t.name, fmt.Errorf("the record is a nil pointer: %w", repo.ErrInvalid))
	}
	return t.write(ctx, record, nil, add)
}

// Update reads a record, lets fn change it, fills its copies, and writes it if nobody else has changed it meanwhile, as
// [repo.Repo.Update] does. Fn may run several times.
func (t *Target[X]) Update(ctx context.Context, key repo.Key, fn func(*X) error) (X, error) {
	var x X
	var v repo.Version
	err := t.write(ctx, &x, func() (err error) {
		v, err = readFor(ctx, t.records, t.id, key, &x, fn)
		return err
	}, func(w repo.Writes[X], x *X) { w.Replace(x, repo.IfVersion(v)) })
	if err != nil {
		x = *new(X)
	}
	return x, err
}

// replace adds to a group that a record is written which was read before.
func (t *Target[X]) replace(w repo.Writes[X], x *X) {
	_, v := t.id(x)
	w.Replace(x, repo.IfVersion(v))
}

// write writes a record, which read reads before each attempt, if it is given.
func (t *Target[X]) write(ctx context.Context, x *X, read func() error, add func(repo.Writes[X], *X)) error {
	var refused error
	var last []seen
	for n := 0; ; n++ {
		if read != nil {
			if err := read(); err != nil {
				return failed("update", t.name, err)
			}
		}
		at := item[X]{x: x}
		if err := t.fill(ctx, []*item[X]{&at}, nil); err != nil || at.err != nil {
			return failed("copy", t.name, cmp.Or(err, at.err))
		}
		same := func(a, b seen) bool { return a.id == b.id && a.version == b.version }
		if read == nil && refused != nil && slices.EqualFunc(last, at.seen, same) {
			return refused // which is about x itself
		}
		last = at.seen
		note, err := t.commit(ctx, x, last, add)
		if err == nil {
			if note != nil {
				t.confirm(ctx, x, *note)
			}
			return nil
		}
		if !isRefused(err) {
			return err
		}
		if refused = err; n > 0 {
			if err := pause(ctx, n); err != nil {
				return failed("put", t.name, err)
			}
		}
	}
}

// isRefused reports whether a commit was refused for what others wrote.
func isRefused(err error) bool {
	e, ok := errors.AsType[*repo.Error](err)
	return ok && e.Index == "" && !errors.Is(err, repo.ErrUnknownOutcome) &&
		(errors.Is(err, repo.ErrConflict) || errors.Is(err, repo.ErrExists) || errors.Is(err, repo.ErrNotFound))
}

// commit writes a record that was filled, on condition that its sources are as they were seen. Where they lie apart it
// returns the row of a note.
func (t *Target[X]) commit(ctx context.Context, x *X, all []seen, add func(repo.Writes[X], *X)) (note *row, err error) {
	g := t.group()
	key, _ := t.id(x)
	g.names(t.place.id(key))
	add(t.records.In(g.Group), x) // first: it tells the outcome
	note = t.condition(&g, key, all)
	return note, g.Commit(ctx)
}

// condition adds to a group, which writes a record, that its sources have not changed or, where they lie apart, a note
// that they may have.
func (t *Target[X]) condition(g *group, key repo.Key, all []seen) (note *row) {
	for _, s := range all {
		switch {
		case !s.isNear(key, &t.place):
			if note == nil {
				note = t.due.add(g, key)
			}
		case g.names(s.id):
			s.check(g.Group)
		}
	}
	return note
}

// confirm looks at the sources of a record once more, after it was written with a note. What it cannot do stays to be
// followed.
func (t *Target[X]) confirm(ctx context.Context, x *X, note row) {
	again := clone(*x)
	if n, err := t.settle(ctx, []*item[X]{{x: &again, note: note}}); err == nil && n > 0 {
		*x = again
	}
}
