package repo

import (
	"context"

	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Part is one collection in a read of a partition: see [Store.ReadPartition]. Make one with [Repo.Into].
type Part struct {
	c    *collection
	open func(k *store.Call, partition Key) (*scan.Part, error)
}

// Into returns the part of r's collection, whose records [Store.ReadPartition] puts into a list.
func (r *Repo[T]) Into(list *[]T) Part {
	on := r.on()
	return Part{on.c, func(k *store.Call, partition Key) (*scan.Part, error) {
		if list == nil {
			return nil, failure.Invalid("the list of collection %s is a nil pointer", on.c.Name)
		}
		return on.v.Part(k, partition, &partList[T]{into: list})
	}}
}

// A partList is what was found for a Part, and where it goes.
type partList[T any] struct {
	found []T
	into  *[]T
}

func (l *partList[T]) Reset()   { l.found = nil }
func (l *partList[T]) Len() int { return len(l.found) }
func (l *partList[T]) Keep()    { *l.into = l.found }

func (l *partList[T]) Next() any {
	var zero T
	l.found = append(l.found, zero)
	return &l.found[len(l.found)-1]
}

func (l *partList[T]) Pick(which []int) {
	var list []T
	for _, i := range which {
		list = append(list, l.found[i])
	}
	l.found = list
}

// A Trail leads from a value to the records of a partition that have it in the field To, from the values that these
// have in the field From to further records, and so on: from a node to those that lie below it, or to its ancestors.
type Trail struct {
	Start any
	To    string
	From  string
	Depth int // how many steps from Start a record is at most; 0 is no bound
}

// Reached returns the part of those records of r's collection to which a trail leads, which
// [Store.ReadPartition] puts into a list, in no order. It is for backends that are a [driver.Follower]: all parts of the call
// are one request then, and of one instant, and one of them may be a trail. The collection needs a native index with the
// partition of the records and To as the first field of Sort, whose fields no record lacks. Otherwise, and where the
// store cannot follow so long a trail, ReadPartition is ErrUnsupported.
func (r *Repo[T]) Reached(list *[]T, t Trail) Part {
	on := r.on()
	return Part{on.c, func(k *store.Call, partition Key) (*scan.Part, error) {
		if list == nil {
			return nil, failure.Invalid("the list of collection %s is a nil pointer", on.c.Name)
		}
		return on.v.Trail(k, partition, plan.Equality{Field: t.To, Value: t.Start}, t.From, t.Depth, &partList[T]{into: list})
	}}
}

// ReadPartition reads all records that the given collections have in one partition: an aggregate with
// its children. Partition has the values of the schema's Partition fields. Each list gets the records
// of its collection, in the order of their keys; it is nil if there are none.
//
// The collections are read at the same time, and those that lie together ([Schema].With) by one
// range, if the backend is a [driver.Gatherer]. The records need not be of one instant: a group that
// commits meanwhile may be seen in one list and not in the other. If ReadPartition returns an
// error, it leaves the lists alone.
//
// The lists hold the whole partition in memory. Use Find for partitions that grow without limit.
func (s *Store) ReadPartition(ctx context.Context, partition Key, parts ...Part) error {
	if s == nil || s.handle.Driver == nil {
		return &Error{Op: "read partition", Err: failure.ErrNoStore}
	}
	all := make([]*collection, len(parts))
	for i := range parts {
		if all[i] = parts[i].c; all[i] == nil {
			all[i] = nothing()
		}
		all[i].Renew()
	}
	ctx, k := s.handle.Begin(ctx, "read partition", namesOf(all, "+"))
	defer k.Leave()
	k.Tick(&s.handle)
	c, err := s.readPartition(ctx, &k, partition, parts, all)
	if err != nil && c != nil {
		return c.end(&k, nil, err)
	}
	return k.End(err)
}

// readPartition returns, with an error, the collection that it is about.
func (s *Store) readPartition(ctx context.Context, k *store.Call, partition Key, parts []Part, all []*collection) (*collection, error) {
	read, names := make([]*scan.Part, len(parts)), map[string]bool{}
	for i, c := range all {
		switch {
		case !c.opened():
			return c, failure.ErrNotOpened
		case c.of != s:
			return c, failure.Invalid("the repository is of another Store")
		case names[c.Name]:
			return c, failure.Invalid("the collection is named twice")
		case ctx == nil:
			return c, failure.ErrNoContext
		}
		names[c.Name] = true
		var err error
		if read[i], err = parts[i].open(k, partition); err != nil {
			return c, err
		}
	}
	scan.ReadParts(ctx, k, read)
	for i, part := range read {
		if part.Err != nil {
			return all[i], part.Err
		}
	}
	for _, part := range read {
		k.Return(part.Keep())
	}
	return nil, nil
}
