package nested

import (
	"context"
	"iter"
	"reflect"

	"github.com/polystore/polystore/repo"
)

// How many records are read at once: few at first, for loops that end early.
const (
	fewRecords  = 8
	manyRecords = 128
)

// Find yields the records that a query finds, in the order of the texts of their keys. The query runs anew for each
// range loop, and lazily: leaving the loop ends it. An error comes once, last, with the zero T. Each record matched
// the query when it was read. A query that does not fit the sub-objects is ErrInvalid.
func (c *Collection[T]) Find(ctx context.Context, q Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		tests, err := c.shape.testsOf(q)
		if err != nil {
			yield(*new(T), c.failed("find", err))
			return
		}
		n := 0
		for m, err := range c.matches(ctx, tests, q, "") {
			if n++; !yield(m.record, err) || n == q.limit {
				return
			}
		}
	}
}

// A match is a record that a query finds, with the text of its key.
type match[T any] struct {
	record T
	owner  string
}

// matches yields what a query finds of the owners above the given one. The limit only says how much to read at once.
func (c *Collection[T]) matches(ctx context.Context, tests []test, q Query, above string) iter.Seq2[match[T], error] {
	return func(yield func(match[T], error) bool) {
		j := c.newJoin(tests, q.near, above)
		size := fewRecords
		if q.limit > 0 {
			size = min(q.limit, manyRecords)
		}
		for ; ; size = min(2*size, manyRecords) {
			found, more, err := c.batch(ctx, j, size)
			if err != nil {
				yield(match[T]{}, err)
				return
			}
			for _, m := range found {
				objects, err := c.shape.objects(reflect.ValueOf(&m.record).Elem())
				if err == nil && meets(objects, tests, q.near) && !yield(m, nil) {
					return
				}
			}
			if !more {
				return
			}
		}
	}
}

// batch reads the next records that a join names. It reports whether there may be more.
func (c *Collection[T]) batch(ctx context.Context, j *join, size int) (found []match[T], more bool, err error) {
	var keys []repo.Key
	var owners []string
	for len(keys) < size {
		owner, err := j.next(ctx)
		if err != nil {
			return nil, false, err
		}
		if owner == "" {
			break
		}
		if key, ok := c.shape.keyOf(owner); ok { // else the row is of another program
			keys, owners = append(keys, key), append(owners, owner)
		}
	}
	if len(keys) == 0 {
		return nil, false, nil
	}
	records, there, err := c.repo.GetMany(ctx, keys)
	if err != nil {
		return nil, false, err
	}
	for i := range records {
		if there[i] {
			found = append(found, match[T]{records[i], owners[i]})
		}
	}
	return found, len(keys) == size, nil
}
