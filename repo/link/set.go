package link

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/polystore/polystore/repo"
)

// A Set is the ends of one side that are linked with all, any or none of some ends of the other side: the users with two
// tags and without a third. Make one with [Links.Froms] or [Links.Tos], and narrow it by AllOf or AnyOf. A Set is a value:
// its methods return narrowed copies.
//
// Members come in the order of their IDs, each once. The links of an end are read in this order: by the key and by the
// index that a schema has without orders. With a ToOrder of other fields Froms needs a further index, {Partition: [To],
// Sort: [From]}; without it a read is ErrNoIndex, which names the index.
//
// Each end that the set names is a range of its links, read in pages of 16 to 512 keys, all ends at the same time. AllOf
// passes over what lies between the members that two ranges have in common. So it reads no more pages than the shortest
// range has links, times the ranges, and mostly far fewer. AnyOf reads its ranges as far as it yields members. NoneOf
// reads its ranges near the members that the others leave.
//
// A member had the links when they were read, not all at one instant. A link that is added or removed meanwhile may or
// may not be seen; of members whose links stay none is missed.
type Set struct {
	links  *reader
	groups [][]id // a member is linked with one of each
	none   []id   // and with none of these
	limit  int
	fault  error // of the first value that is no ID
}

// AllOf narrows the set to ends that are linked with all of some others.
func (s Set) AllOf(others ...any) Set {
	ids := s.idsOf(others)
	s.groups = slices.Clone(s.groups)
	for i := range ids {
		s.groups = append(s.groups, ids[i:i+1])
	}
	return s
}

// AnyOf narrows the set to ends that are linked with one of some others. Without others it is empty.
func (s Set) AnyOf(others ...any) Set {
	ids := s.idsOf(others)
	s.groups = append(slices.Clone(s.groups), ids)
	return s
}

// NoneOf narrows the set to ends that are linked with none of some others. A set of NoneOf alone is ErrInvalid.
func (s Set) NoneOf(others ...any) Set {
	ids := s.idsOf(others)
	s.none = append(slices.Clone(s.none), ids...)
	return s
}

// Limit bounds the number of members; 0 is no bound. For Page it is the size of a page.
func (s Set) Limit(n int) Set {
	s.limit = n
	return s
}

// idsOf returns the ids that values are, each once.
func (s *Set) idsOf(values []any) (ids []id) {
	for i, v := range values {
		one, ok := idOf(v)
		if !ok && s.fault == nil {
			s.fault = invalid("end %d of %d is no text and no integer", i+1, len(values))
		}
		if !slices.Contains(ids, one) {
			ids = append(ids, one)
		}
	}
	return ids
}

func (s Set) check(ctx context.Context) error {
	switch {
	case s.links == nil:
		return invalid("the set is empty: make one with Links.Froms or Links.Tos")
	case ctx == nil:
		return invalid("the context is nil")
	case s.fault != nil:
		return s.fault
	case len(s.groups) == 0:
		return invalid("a set needs AllOf or AnyOf, by whose links it is read")
	case s.limit < 0:
		return invalid("the limit is negative")
	}
	return nil
}

// Find yields the members as keys of one part, the ID. The set is read anew for each range loop, and lazily: leaving the
// loop ends it. An error comes once, last, with nil.
func (s Set) Find(ctx context.Context) iter.Seq2[repo.Key, error] {
	return func(yield func(repo.Key, error) bool) {
		n := 0
		for member, err := range s.members(ctx, nil) {
			if err != nil {
				yield(nil, s.links.failed(err))
				return
			}
			if n++; !yield(repo.Key{member.value()}, nil) || n == s.limit {
				return
			}
		}
	}
}

// Count returns the number of members, at most the limit, by reading them.
func (s Set) Count(ctx context.Context) (n int, err error) {
	for _, err := range s.Find(ctx) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// members yields the members above an id, all if it is nil. Its errors are to be annotated.
func (s Set) members(ctx context.Context, above *id) iter.Seq2[id, error] {
	return func(yield func(id, error) bool) {
		if err := s.check(ctx); err != nil {
			yield(id{}, err)
			return
		}
		m := s.merge(above)
		for {
			member, ok, err := m.next(ctx)
			if err != nil {
				yield(id{}, err)
			}
			if err != nil || !ok || !yield(member, nil) {
				return
			}
		}
	}
}

// String returns the set for people.
func (s Set) String() string {
	if s.links == nil {
		return "no set"
	}
	return fmt.Sprintf("%s of %s with %s of each of %v and none of %v", s.links.member, s.links.collection, s.links.other, s.groups, s.none)
}
