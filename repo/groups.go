package repo

import (
	"context"
	"iter"
	"slices"

	"github.com/polystore/polystore/repo/internal/scan"
)

// Groups are the groups of the records that a query finds: those with the same values of some fields. Make one with
// [Repo.GroupBy]. A Groups is a value, as a [Query] is.
//
// An index, or the key, answers for groups if it answers the query and its next fields are those of the grouping, in
// their order; fields that a condition fixes may stand among them. Any other grouping is refused; the error names the
// index to add. Groups come in the order of the query, which begins with the fields of the grouping, or else in that of
// the index. Limit and Offset of the query are those of the groups, of which those that the offset passes over are
// read all the same.
//
// A field of which [Query.AnyOf] gives several values may be one of the first fields of the grouping: then the groups
// come in the order of these values, and the values are asked for one after the other. "field[]" makes a group for each
// different element of a list, and a record belongs to several; the index of this must be no native one, unless the
// query fixes the element or gives several by AnyOf.
//
// Records that lack a field of the grouping are in no group. One that passes to another group while the groups are read
// may be found in one of the two, in both or in none.
type Groups[T any] struct {
	r *Repo[T]
	grouping
}

// A grouping is what there is to Groups whatever the records are.
type grouping struct {
	c   *collection
	by  []string
	sum []string
}

// on returns the collection; that of a zero Groups is nothing.
func (g *grouping) on() *collection {
	if g.c == nil {
		return nothing()
	}
	return g.c.newest()
}

// A GroupCount tells of one group.
type GroupCount struct {
	Key   Key   // the values of the fields of the grouping, in their order
	Count int   // how many records the group has, never 0
	Sums  []any // of the fields that [Groups.Sum] names, in their order: an int64, or a float64
}

// GroupBy returns the groups of records with the same values of some fields.
func (r *Repo[T]) GroupBy(fields ...string) Groups[T] {
	return Groups[T]{r, grouping{c: r.on().c, by: slices.Clone(fields)}}
}

// Sum returns the groups with the sums of some more fields, which are integers or floats. A record without the field
// adds nothing. A sum over the range of int64 ends the loop with ErrInvalid. An index that covers the fields gives the
// sums without the records.
func (g Groups[T]) Sum(fields ...string) Groups[T] {
	g.sum = append(g.sum[:len(g.sum):len(g.sum)], fields...)
	return g
}

// Find yields the groups of what a query finds, with their counts and sums, by one pass over the index. Records are read
// only where the index does not tell. It is otherwise like [Repo.Find].
func (g Groups[T]) Find(ctx context.Context, q Query) iter.Seq2[GroupCount, error] {
	return g.find(ctx, q)
}

func (g *grouping) find(ctx context.Context, q Query) iter.Seq2[GroupCount, error] {
	c, sum := g.on(), g.sum
	q.def.By = g.by
	return func(yield func(GroupCount, error) bool) {
		ctx, k := c.begin(ctx, "groups")
		defer k.Leave()
		stopped := false
		err := scan.GroupingOf(c.Reader, q.def, sum).Find(ctx, &k, func(one *scan.Group) bool {
			stopped = !yield(GroupCount{one.Values, one.Count, one.Sums}, nil)
			return !stopped
		})
		if err = c.end(&k, nil, err); err != nil && !stopped {
			yield(GroupCount{}, err)
		}
	}
}

// Count returns the number of groups, at most the limit of the query: how many different values there are. It goes from
// each group to the next, one after the other, and reads one row of each; so it suits large groups.
func (g Groups[T]) Count(ctx context.Context, q Query) (int, error) { return g.count(ctx, q) }

func (g *grouping) count(ctx context.Context, q Query) (int, error) {
	q.def.By = g.by
	c := g.on()
	ctx, k := c.begin(ctx, "count groups")
	defer k.Leave()
	n, err := scan.GroupingOf(c.Reader, q.def, nil).Count(ctx, &k)
	return n, c.end(&k, nil, err)
}

// First yields the first record of each group, by the order of the query: the newest message of each conversation. It
// goes from each group to the next, as Count does. It is otherwise like [Repo.Find].
func (g Groups[T]) First(ctx context.Context, q Query) iter.Seq2[T, error] {
	q.def.By = g.by
	return func(yield func(T, error) bool) { g.r.on().firstOfGroups(ctx, q, yield) }
}

// Explain says how Find is answered, and what it costs for so many records, without running it.
func (g Groups[T]) Explain(q Query) (Plan, error) { return g.explain(q) }

func (g *grouping) explain(q Query) (Plan, error) {
	q.def.By = g.by
	c := g.on()
	e, err := scan.GroupingOf(c.Reader, q.def, g.sum).Explain()
	if err != nil || !c.opened() {
		return Plan{}, c.annotate("explain", nil, err)
	}
	return planOf(e), nil
}
