package candidate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/oracle"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/copies"
	"github.com/polystore/polystore/repo/driver"
)

type (
	source = copies.Source[map[string]any]
	target = copies.Target[map[string]any]
)

// copied are the copies of fields that a model keeps, on a store.
type copied struct {
	model   *workload.Model
	sources []*source // by collection, nil of which nobody has copies
	targets []*target // by collection, nil where there are no copies
}

// open opens a collection that has copies, or of which others have some, and returns the names that it takes in the
// store.
func (c *copied) open(ctx context.Context, store *repo.Store, of *workload.Collection, s repo.Schema) (r *repo.Repo[map[string]any], names []string, err error) {
	names = []string{s.Collection}
	switch {
	case len(c.model.Copies[of.At]) > 0:
		t, err := copies.OpenTarget(ctx, store, s, c.identified(of))
		if err != nil {
			return nil, nil, err
		}
		if store.Facts().Scope < driver.ScopeStore {
			names = append(names, s.Collection+workload.ConfirmSuffix)
		}
		c.targets[of.At] = t
		return t.Records(), names, nil
	case c.model.IsCopied(of):
		from, err := copies.OpenSource(ctx, store, s, c.identified(of))
		if err != nil {
			return nil, nil, err
		}
		c.sources[of.At] = from
		return from.Records(), append(names, s.Collection+workload.DueSuffix), nil
	}
	r, err = repo.Open[map[string]any](ctx, store, s)
	return r, names, err
}

// identified returns what tells the key and the version of a record. One that is no record yet has the key of empty values.
func (c *copied) identified(of *workload.Collection) func(*map[string]any) (repo.Key, repo.Version) {
	fields := of.Keys[c.model.KeyAt[of.At]]
	return func(rec *map[string]any) (repo.Key, repo.Version) {
		key := make(repo.Key, len(fields))
		for i, f := range fields {
			if key[i] = (*rec)[f]; *rec == nil && of.Kind(f) == "int" {
				key[i] = int64(0)
			} else if *rec == nil {
				key[i] = ""
			}
		}
		v, _ := (*rec)["_version"].(repo.Version)
		return key, v
	}
}

// declare says what copies the collections have, once all are open, and to what checks answers that they may be behind.
func (c *copied) declare(w *workload.Workload, seen *oracle.Oracle, facts driver.Facts) error {
	for _, of := range w.Collections {
		for i := range c.model.Copies[of.At] {
			j := &c.model.Copies[of.At][i]
			err := copies.Declare(c.targets[of.At], c.sources[j.From.At], copies.Rule[map[string]any, map[string]any]{
				By:   []string{j.Field},
				Refs: func(rec *map[string]any) []repo.Key { return referred(*rec, j) },
				Copy: func(_ context.Context, rec *map[string]any, from []*map[string]any) error {
					fill(*rec, from, j)
					return nil
				},
			})
			if errors.Is(err, repo.ErrNoIndex) {
				return failure.Faults{{File: w.File, Line: j.Place.Line, Column: j.Place.Column,
					Text: fmt.Sprintf("model %s: nothing finds the records of %s that have copies of one of %s: %s", c.model.Name, of.Schema.Collection, j.From.Schema.Collection, reason(err))}}
			}
			if err != nil {
				return err
			}
			if facts.Scope < driver.ScopeStore {
				seen.Behind(of)
			}
		}
	}
	return nil
}

// referred returns the keys of the records that a record refers to by a field.
func referred(rec map[string]any, j *workload.Join) []repo.Key {
	if v := rec[j.Field]; v != nil {
		return []repo.Key{{v}}
	}
	return nil
}

// fill gives a record copies of the fields of the record that it refers to, if that is there.
func fill(rec map[string]any, from []*map[string]any, j *workload.Join) {
	for _, f := range j.Take {
		delete(rec, j.Kept(f))
		if len(from) > 0 && from[0] != nil && !value.IsEmpty((*from[0])[f]) {
			rec[j.Kept(f)] = (*from[0])[f]
		}
	}
}

// A writer writes records with copies, or records of which others have copies.
type writer interface {
	Insert(ctx context.Context, rec *map[string]any) error
	Put(ctx context.Context, rec *map[string]any, opts ...repo.WriteOption) error
	Update(ctx context.Context, key repo.Key, fn func(*map[string]any) error) (map[string]any, error)
}

// write sends an operation that fills copies, or after which copies must follow. These follow before it ends: by the
// commit where the store can do that, else by FollowOne. It is false for other operations.
func (c *copied) write(ctx context.Context, k *operation.Call) (bool, error) {
	at, key := k.Q.Collection.At, k.KeyIn(c.model)
	switch {
	case !k.Q.Writes():
		return false, nil
	case c.model.Fills(k.Q):
		return true, writeBy(ctx, c.targets[at], k, key)
	case !c.model.Copied(k.Q):
		return false, nil
	}
	from := c.sources[at]
	if k.Q.Kind == "insert" {
		key, _ = c.identified(k.Q.Collection)(&k.Record)
	}
	err := error(nil)
	if k.Q.Kind == "delete" {
		err = from.Delete(ctx, key, repo.IfExists())
	} else {
		err = writeBy(ctx, from, k, key)
	}
	if err != nil {
		return true, err
	}
	return true, letFollow(ctx, from, key)
}

// letFollow lets the copies of a record follow a write that is done, whatever becomes of them.
func letFollow(ctx context.Context, from *source, key repo.Key) error {
	_, err := from.FollowOne(ctx, key)
	if err != nil {
		err = fmt.Errorf("the record is written, and its copies may not be: %w: %w", repo.ErrUnknownOutcome, err)
	}
	return err
}

func writeBy(ctx context.Context, to writer, k *operation.Call, key repo.Key) error {
	rec := maps.Clone(k.Record) // the library adds the version, and copies
	switch k.Q.Kind {
	case "insert":
		return to.Insert(ctx, &rec)
	case "put":
		return to.Put(ctx, &rec)
	}
	_, err := to.Update(ctx, key, func(rec *map[string]any) error {
		k.Change(*rec)
		return nil
	})
	return err
}

// changed adds to a group that copies are due, if one of its writes makes them so, and returns what lets them follow.
func (c *copied) changed(g *repo.Group, k *operation.Call) (follow func(ctx context.Context) error) {
	from := c.sources[k.Q.Collection.At]
	var keys []repo.Key
	for i := range k.Parts {
		if part := &k.Parts[i]; c.model.Copied(part.Q) {
			keys = append(keys, part.KeyIn(c.model))
			from.Changed(g, part.KeyIn(c.model))
		}
	}
	return func(ctx context.Context) error {
		for _, key := range keys {
			if err := letFollow(ctx, from, key); err != nil {
				return err
			}
		}
		return nil
	}
}

// filled yields records as the model keeps them: with their copies, of the data.
func (c *copied) filled(of *workload.Collection, tables []*generate.Table, records iter.Seq2[map[string]any, error]) iter.Seq2[map[string]any, error] {
	list := c.model.Copies[of.At]
	if len(list) == 0 {
		return records
	}
	known := make([]map[any]int, len(list)) // by copy, and by the key of what is copied: the record of the data
	for i, j := range list {
		known[i] = make(map[any]int, tables[j.From.At].Len)
		for n, v := range tables[j.From.At].Column(j.From.Key()[0]) {
			known[i][v] = n
		}
	}
	return func(yield func(map[string]any, error) bool) {
		for rec, err := range records {
			for i := range list {
				j := &list[i]
				n, ok := known[i][rec[j.Field]]
				for _, f := range j.Take {
					if v := tables[j.From.At].Column(f); ok && err == nil && !value.IsEmpty(v[n]) {
						rec[j.Kept(f)] = v[n]
					}
				}
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// follow brings all copies up to date that operations left due which failed, or were cut off.
func (c *copied) follow(ctx context.Context) error {
	for _, from := range c.sources {
		if from == nil {
			continue
		}
		if _, err := from.Follow(ctx); err != nil {
			return err
		}
	}
	return nil
}

// verify makes sure that no copy differs from its source.
func (c *copied) verify(ctx context.Context, label string) error {
	if err := c.follow(ctx); err != nil {
		return err
	}
	for at, to := range c.targets {
		if to == nil {
			continue
		}
		var differ []repo.Key
		for checked, err := range to.Verify(ctx, "") {
			if err != nil {
				return err
			}
			differ = append(differ, checked.Differ...)
		}
		if len(differ) > 0 {
			return &failure.WrongAnswers{Text: fmt.Sprintf("after the run copies differ from their sources in %s of %s of %s; the first is %s",
				format.Plural(len(differ), "record"), c.model.Schemas[at].Collection, label, differ[0])}
		}
	}
	return nil
}
