package copies

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/polystore/polystore/repo"
)

// A Source is records of which others have copies. Many goroutines and programs may use a Source of one collection at
// once. Make one with [OpenSource].
type Source[Y any] struct {
	place
	records *repo.Repo[Y]
	id      func(*Y) (repo.Key, repo.Version)
	due     *list
	none    Y // without values
	links   []follower
	targets []noter
}

// A follower is the copies that a target has of a source.
type follower interface {
	follow(ctx context.Context, key repo.Key) (int, error)
	join(ctx context.Context, g *group, now *given, room int) (int, error)
}

// A noter is a target.
type noter interface {
	followNotes(ctx context.Context) (int, error)
	notes() *list // nil where there are never any
}

// A given is a record that is being written, in the place of what is stored.
type given struct {
	place *place
	key   repo.Key
	id    string
	now   any // *Y, nil if it is being deleted
}

// OpenSource opens a collection of records, and one beside it, with "_due" behind the name, that says of which of them
// copies are due. Both are made if they are not there. Id returns the key and the version of a record, which has a
// version field.
func OpenSource[Y any](ctx context.Context, store *repo.Store, schema repo.Schema, id func(*Y) (repo.Key, repo.Version), opts ...repo.OpenOption) (*Source[Y], error) {
	if id == nil {
		return nil, failed("open", schema.Collection, fmt.Errorf("the function is nil: %w", repo.ErrInvalid))
	}
	records, err := repo.Open[Y](ctx, store, schema, opts...)
	if err != nil {
		return nil, err
	}
	s := &Source[Y]{place: placeOf(store, schema), records: records, id: id}
	if v := reflect.ValueOf(&s.none).Elem(); v.Kind() == reflect.Interface {
		v.Set(reflect.New(reflect.Indirect(reflect.ValueOf(schema.Types.Of[""])).Type()))
	}
	s.due, err = openList(ctx, s.place, dueSuffix, opts)
	return s, err
}

// Records returns the plain repository of the records, for reads and queries, and for writes of fields that nobody
// copies. Its Resolve finds out what became of a write through the Source.
func (s *Source[Y]) Records() *repo.Repo[Y] { return s.records }

// Insert adds a record, as [repo.Repo.Insert] does.
func (s *Source[Y]) Insert(ctx context.Context, record *Y) error {
	return s.put(ctx, record, func(w repo.Writes[Y]) { w.Insert(record) })
}

// Put writes a record, as [repo.Repo.Put] does.
func (s *Source[Y]) Put(ctx context.Context, record *Y, opts ...repo.WriteOption) error {
	return s.put(ctx, record, func(w repo.Writes[Y]) { w.Put(record, opts...) })
}

func (s *Source[Y]) put(ctx context.Context, record *Y, add func(w repo.Writes[Y])) error {
	if record == nil {
		return failed("put", s.name, fmt.Errorf("the record is a nil pointer: %w", repo.ErrInvalid))
	}
	key, _ := s.id(record)
	return s.write(ctx, key, false, func() (*Y, error) { return record, nil }, func(w repo.Writes[Y], _ *Y) { add(w) })
}

// Update reads a record, lets fn change it, and writes it if nobody else has changed it meanwhile, as
// [repo.Repo.Update] does. Fn may run several times.
func (s *Source[Y]) Update(ctx context.Context, key repo.Key, fn func(*Y) error) (Y, error) {
	var rec Y
	var v repo.Version
	err := s.write(ctx, key, true, func() (_ *Y, err error) {
		v, err = readFor(ctx, s.records, s.id, key, &rec, fn)
		return &rec, err
	}, func(w repo.Writes[Y], y *Y) { w.Replace(y, repo.IfVersion(v)) })
	if err != nil {
		rec = *new(Y)
	}
	return rec, err
}

// readFor reads a record, lets the function of an update change it, and returns the version that was read.
func readFor[T any](ctx context.Context, r *repo.Repo[T], id func(*T) (repo.Key, repo.Version), key repo.Key, rec *T, fn func(*T) error) (v repo.Version, err error) {
	if fn == nil {
		return v, fmt.Errorf("the function is nil: %w", repo.ErrInvalid)
	}
	if *rec, err = r.Get(ctx, key); err != nil {
		return v, err
	}
	before, v := id(rec)
	if v.IsZero() {
		return v, errNoVersion
	}
	if err := fn(rec); err != nil {
		return v, err
	}
	if after, _ := id(rec); !reflect.DeepEqual(after, before) {
		return v, fmt.Errorf("the update changes the key; insert a new record and delete this one: %w", repo.ErrInvalid)
	}
	return v, nil
}

// Delete removes a record, as [repo.Repo.Delete] does. What becomes of its copies [Rule].Copy says.
func (s *Source[Y]) Delete(ctx context.Context, key repo.Key, opts ...repo.WriteOption) error {
	return s.write(ctx, key, false, func() (*Y, error) { return nil, nil }, func(w repo.Writes[Y], _ *Y) { w.Delete(key, opts...) })
}

// Changed adds to a group of the caller's, which writes the record under key, that its copies are due. With it records
// are patched, or written together with others. The group must write the record itself, by [repo.Repo.In] of
// [Source.Records]: targets go by its version.
func (s *Source[Y]) Changed(g *repo.Group, key repo.Key) { s.due.add(&group{Group: g}, key) }

const (
	attempts     = 100 // how often a write is tried while others are faster
	joins        = 3   // in how many of them copies are in the commit
	mostTogether = 50  // copies in the commit of their source
)

// write writes what next returns, with as many of its copies as can be in its commit.
func (s *Source[Y]) write(ctx context.Context, key repo.Key, isUpdate bool, next func() (*Y, error), add func(repo.Writes[Y], *Y)) error {
	for n := 0; ; n++ {
		y, err := next()
		if err != nil {
			return failed("update", s.name, err)
		}
		g := s.group()
		g.names(s.place.id(key))
		add(s.records.In(g.Group), y) // first: it tells the outcome
		s.due.add(&g, key)
		joined := 0
		if n < joins {
			if joined, err = s.join(ctx, &g, key, y); err != nil {
				n = joins
				continue // without copies, which are due then
			}
		}
		err = g.Commit(ctx)
		again := joined > 0 || isUpdate && errors.Is(err, repo.ErrConflict) && isRefused(err)
		if err == nil || !again || errors.Is(err, repo.ErrUnknownOutcome) {
			return err
		}
		if err := pause(ctx, n); err != nil {
			return failed("update", s.name, err)
		}
	}
}

// join adds to a group the copies that can be in it, if all of a target can, and returns how many they are.
func (s *Source[Y]) join(ctx context.Context, g *group, key repo.Key, y *Y) (n int, err error) {
	now := given{&s.place, key, s.place.id(key), y}
	for _, l := range s.links {
		some, err := l.join(ctx, g, &now, mostTogether-n)
		if n += some; err != nil {
			return n, err
		}
	}
	return n, nil
}

// pause waits before another attempt, the nth, if it is not one too many.
func pause(ctx context.Context, n int) error {
	if n > attempts {
		return fmt.Errorf("gave up after %d attempts, other writers were faster each time: %w", n, repo.ErrContention)
	}
	select {
	case <-time.After(rand.N(time.Millisecond << min(n, 6))):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", repo.ErrTimeout, context.Cause(ctx))
	}
}

// Follow brings the copies up to date that are due, of all records and targets, and returns how many it changed. A
// program that calls it has declared all targets of the source. Any number of programs may call it at once, and it may
// be broken off at any point: another call does the rest. An error about some copies, such as that of a [Rule].Copy,
// does not keep Follow from the others; these copies stay due, and the first error is returned.
//
// Follow reads the whole list of what is due, as [repo.Repo.Walk] does.
func (s *Source[Y]) Follow(ctx context.Context) (changed int, err error) {
	changed, err = s.due.each(ctx, func(r row) (int, error) { return s.follow(ctx, r) })
	for _, t := range s.targets {
		n, e := t.followNotes(ctx)
		if changed += n; err == nil {
			err = e
		}
	}
	return changed, err
}

// FollowOne is [Source.Follow] for the copies of one record: right after it was written, where the copies should
// change at once.
func (s *Source[Y]) FollowOne(ctx context.Context, key repo.Key) (changed int, err error) {
	r, err := s.due.rows.Get(ctx, key)
	if err != nil {
		return 0, unless(err, repo.ErrNotFound)
	}
	return s.follow(ctx, r)
}

// follow does what a row says, and removes it.
func (s *Source[Y]) follow(ctx context.Context, r row) (changed int, err error) {
	for _, l := range s.links {
		n, err := l.follow(ctx, s.due.keyIn(r))
		if changed += n; err != nil {
			return changed, err
		}
	}
	return changed, s.due.remove(ctx, r)
}

// Due returns how much is due, of the source and of its targets, by reading the list of it. While it is nothing, no
// copy differs.
func (s *Source[Y]) Due(ctx context.Context) (d Due, err error) {
	lists := []*list{s.due}
	for _, t := range s.targets {
		lists = append(lists, t.notes())
	}
	for _, l := range lists {
		if err := l.count(ctx, &d); err != nil {
			return Due{}, err
		}
	}
	return d, nil
}
