package nested

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/polystore/polystore/repo"
)

// Verify reads all records and yields the keys of those whose terms do not agree with their sub-objects: a program
// wrote them by the plain repository without [Collection.Fill], or with other Fields. A key may come twice.
// Whether the index rows agree with the terms is what [repo.Repo.Verify] says.
//
// Records that cannot be read come as errors, each with a nil key. A loop that goes on gets the rest.
func (c *Collection[T]) Verify(ctx context.Context) iter.Seq2[repo.Key, error] {
	return func(yield func(repo.Key, error) bool) {
		for chunk, err := range c.repo.Walk(ctx, "") {
			for i := range chunk.Items {
				key, stale := c.staleKey(&chunk.Items[i])
				if stale && !yield(key, nil) {
					return
				}
			}
			if err != nil && !yield(nil, err) {
				return
			}
		}
	}
}

// staleKey returns the key of a record, and whether its terms are not those that it should have.
func (c *Collection[T]) staleKey(record *T) (repo.Key, bool) {
	want, err := c.fresh(record)
	if err == nil && termsOf(record).equal(&want) {
		return nil, false
	}
	owner, _ := c.shape.ownerOf(reflect.ValueOf(record).Elem())
	key, _ := c.shape.keyOf(owner)
	return key, true
}

var errAgrees = errors.New("the terms agree")

// Repair writes the terms of the records that Verify names, and returns how many it wrote. Others may read and write
// meanwhile. A record that cannot be repaired does not stop the rest; the error names such records. Repair also makes
// the terms of a collection that had records before it was opened here.
func (c *Collection[T]) Repair(ctx context.Context) (int, error) {
	n := 0
	var errs []error
	for key, err := range c.Verify(ctx) {
		if err == nil {
			err = c.repairOne(ctx, key)
			if err == nil {
				n++
			}
		}
		switch {
		case errors.Is(err, errAgrees), errors.Is(err, repo.ErrNotFound): // others changed it
		case err != nil && len(errs) < 100:
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := errors.Join(errs...); err != nil {
		return n, c.failed("repair", fmt.Errorf("some records: %w", err))
	}
	return n, nil
}

func (c *Collection[T]) repairOne(ctx context.Context, key repo.Key) error {
	_, err := c.repo.Update(ctx, key, func(record *T) error {
		if _, stale := c.staleKey(record); !stale {
			return errAgrees
		}
		return c.fill(record)
	})
	return err
}
