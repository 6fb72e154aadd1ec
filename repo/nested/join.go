package nested

import "context"

// A join intersects the lists of the conditions of a query by record and position.
type join struct {
	src   source
	near  int
	lists []*list   // all
	conds [][]*list // by condition: one list, or one for each number
}

// newJoin returns the join of a query, of owners above the given one; "" is all.
func (c *Collection[T]) newJoin(tests []test, near int, above string) *join {
	j := &join{src: c.rows, near: near}
	for _, t := range tests {
		var lists []*list
		for n := min(1, c.schema.Numbers); n <= c.schema.Numbers; n++ {
			lists = append(lists, &list{term: termOf(c.shape.fields[t.field].name, n, t.value.text), number: n, from: above})
		}
		j.conds = append(j.conds, lists)
		j.lists = append(j.lists, lists...)
	}
	return j
}

// next returns the owner of the next record that may match, or "" at the end.
func (j *join) next(ctx context.Context) (string, error) {
	for {
		if err := readAll(ctx, j.lists, j.src); err != nil {
			return "", err
		}
		owner, all, ok := j.head()
		if !ok {
			return "", nil
		}
		match := all && owner != "" && j.isNear(owner)
		for _, l := range j.lists {
			l.skip(owner, !all)
		}
		if match {
			return owner, nil
		}
	}
}

// head returns the least owner that can have all terms, and whether it has. It reports false if none has.
func (j *join) head() (owner string, all, ok bool) {
	all = true
	for i, lists := range j.conds {
		least, some := "", false
		for _, l := range lists {
			if len(l.rows) > 0 && (!some || l.rows[0].Owner < least) {
				least, some = l.rows[0].Owner, true
			}
		}
		if !some {
			return "", false, false
		}
		all = all && (i == 0 || least == owner)
		owner = max(owner, least)
	}
	return owner, all, true
}

// isNear reports whether the terms of an owner, which has all of them, are near each other.
func (j *join) isNear(owner string) bool {
	if j.lists[0].number == 0 {
		return j.isNearByPlaces(owner)
	}
	places := make([][]int, len(j.conds))
	for i, lists := range j.conds {
		for _, l := range lists {
			if len(l.rows) > 0 && l.rows[0].Owner == owner {
				places[i] = append(places[i], l.number)
			}
		}
	}
	return within(places, j.near)
}

// isNearByPlaces takes all positions from one row, so that they are of one state of the record: a writer may change
// the record between the reads of two lists.
func (j *join) isNearByPlaces(owner string) bool {
	rows := j.lists[0].rows
	if len(rows) > 1 && rows[1].Owner == owner {
		return true // a copied record: the record itself decides
	}
	at, ok := decodePlaces(rows[0].Places)
	if !ok {
		return true
	}
	places := make([][]int, len(j.lists))
	for i, l := range j.lists {
		places[i] = at[hashOf(l.term)]
	}
	return within(places, j.near)
}
