package repo

import "context"

// A Reader is a [Repo] or a [View]: functions read records by it as T.
type Reader[T any] interface{ on() *reads[T] }

// A Ranked is a record that [Best] found, and how many of the values it has, at least one.
type Ranked[T any] struct {
	Record T
	Count  int
}

// Best returns those of the records that a query finds which have the most of some values, the best first: pages with
// most of the words of a search. The values are those of the query's one [Query.AnyOf] over the elements of a list; one
// that is given twice counts once. Limit says how many records there are to be, and must be given; with the offset it
// is at most 10,000. Records with as many values come in the order of the query.
//
// Best reads all index rows of the values, merged, and counts those of each record. Then it reads the records that are
// the best by these, by one request where the store reads many keys at once; an index that covers them spares none. A
// record that is no longer what its rows say gives its place to the next one. So does a record that does not meet a
// NoneOf or a Filter of the query. In memory are up to 300 rows for each value and bucket, and the keys of 256 records
// more than are wanted. Where so many are passed over all rows are read again, with room for twice as many.
//
// Each record matched, and had so many of the values, when it was read. A record that stays as it is from before the
// call until after it has its right place among those returned. One that is written meanwhile is ranked as it was
// before or as it is after that, or it is missed if its values or its place in the order change.
func Best[T any](ctx context.Context, from Reader[T], q Query) ([]Ranked[T], error) {
	r := readsBy(from)
	ctx, k := r.c.begin(ctx, "best")
	defer k.Leave()
	found, err := r.v.Best(ctx, &k, q.def)
	k.Return(len(found))
	list := make([]Ranked[T], len(found))
	for i := range found {
		list[i] = Ranked[T]{*found[i].Record.(*T), found[i].Count}
	}
	return list, r.c.end(&k, nil, err)
}

// ExplainBest says how [Best] is answered, and what it costs for so many rows, without running it.
func ExplainBest[T any](from Reader[T], q Query) (Plan, error) {
	r := readsBy(from)
	e, err := r.v.ExplainBest(q.def)
	if err != nil || !r.c.opened() {
		return Plan{}, r.c.annotate("explain", nil, err)
	}
	return planOf(e), nil
}

// readsBy returns how records are read by a Reader, which may be nil.
func readsBy[T any](from Reader[T]) *reads[T] {
	if from == nil {
		return onNothing[T]()
	}
	return from.on()
}
