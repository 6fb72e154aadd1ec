package nested

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/polystore/polystore/repo"
)

// A Collection keeps records of type T and finds them by their sub-objects. It may be used by many goroutines at
// once. Make one with [Open].
type Collection[T any] struct {
	schema Schema
	shape  *shape
	repo   *repo.Repo[T]
	rows   source
	plan   func(repo.Query) (repo.Plan, error) // of one range of rows
}

// Open opens the collection of a schema, which is made if it is not there. T is a struct that embeds [Terms]. Faults
// of the schema are ErrSchema.
func Open[T any](ctx context.Context, store *repo.Store, schema Schema, opts ...repo.OpenOption) (*Collection[T], error) {
	c := &Collection[T]{schema: schema}
	t := reflect.TypeFor[T]()
	if _, ok := any(new(T)).(interface{ inNested() *Terms }); !ok || t.Kind() != reflect.Struct {
		return nil, c.failed("open", fmt.Errorf("%s does not embed nested.Terms: %w", t, repo.ErrSchema))
	}
	err := c.schema.complete()
	if err == nil {
		c.shape, err = shapeOf(t, &c.schema)
	}
	if err == nil {
		err = c.schema.checkRows(len(c.shape.fields))
	}
	if err != nil {
		return nil, c.failed("open", err)
	}
	if err := c.schema.alone(ctx, store); err != nil {
		return nil, c.failed("open", err)
	}
	if c.repo, err = repo.Open[T](ctx, store, c.schema.records(), opts...); err != nil {
		return nil, err
	}
	for _, x := range c.schema.records().Indexes { // by which all queries go
		if err := c.repo.Ready(ctx, x.Name); err != nil {
			return nil, err
		}
	}
	if err := c.openRows(); err != nil {
		return nil, err
	}
	return c, nil
}

// openRows opens the view that reads the index rows of terms, and nothing else.
func (c *Collection[T]) openRows() error {
	if c.schema.Strategy == Proximity {
		v, err := repo.ViewOf[posting](c.repo)
		if err == nil {
			c.rows, c.plan = v.Find, v.Explain
		}
		return err
	}
	v, err := repo.ViewOf[ownerOnly](c.repo)
	if err != nil {
		return err
	}
	c.plan = v.Explain
	c.rows = func(ctx context.Context, q repo.Query) iter.Seq2[posting, error] {
		return func(yield func(posting, error) bool) {
			for row, err := range v.Find(ctx, q) {
				if !yield(posting{Owner: row.Owner}, err) {
					return
				}
			}
		}
	}
	return nil
}

func (c *Collection[T]) failed(op string, err error) error {
	if c.repo != nil {
		err = c.repo.Store().Redact(err)
	}
	return &repo.Error{Op: op, Collection: c.schema.Records.Collection, Err: err}
}

// Repo returns the repository of the records, for reads, queries by other indexes, groups and upkeep. Its writes do
// not make terms: call [Collection.Fill] on a record before it is written there.
func (c *Collection[T]) Repo() *repo.Repo[T] { return c.repo }

// Fill makes the terms of a record from its sub-objects. Insert, Put, Replace and Update do so by themselves. Of
// more sub-objects than Schema.Numbers, or of more different values than a record can have index rows, it is
// ErrTooLarge, and the record stays as it was.
func (c *Collection[T]) Fill(record *T) error {
	if err := c.fill(record); err != nil {
		return c.failed("fill", err)
	}
	return nil
}

func (c *Collection[T]) fill(record *T) error {
	t, err := c.fresh(record)
	if err == nil {
		*termsOf(record) = t
	}
	return err
}

// fresh returns the terms that a record should have.
func (c *Collection[T]) fresh(record *T) (Terms, error) {
	if record == nil {
		return Terms{}, fmt.Errorf("the record is nil: %w", repo.ErrInvalid)
	}
	v := reflect.ValueOf(record).Elem()
	owner, err := c.shape.ownerOf(v)
	if err != nil {
		return Terms{}, err
	}
	objects, err := c.shape.objects(v)
	if err != nil {
		return Terms{}, err
	}
	return c.termsFor(objects, owner)
}

// Rows returns how many index rows a record has for its sub-objects. An insert writes as many, and an update writes
// those that change: see docs/howto/nested.md.
func (c *Collection[T]) Rows(record *T) (int, error) {
	t, err := c.fresh(record)
	if err != nil {
		return 0, c.failed("rows", err)
	}
	return len(t.NestedTerms), nil
}

// Insert makes the terms of a record and inserts it: see [repo.Repo.Insert].
func (c *Collection[T]) Insert(ctx context.Context, record *T) error {
	if err := c.fill(record); err != nil {
		return c.failed("insert", err)
	}
	return c.repo.Insert(ctx, record)
}

// Put makes the terms of a record and puts it: see [repo.Repo.Put].
func (c *Collection[T]) Put(ctx context.Context, record *T, opts ...repo.WriteOption) error {
	if err := c.fill(record); err != nil {
		return c.failed("put", err)
	}
	return c.repo.Put(ctx, record, opts...)
}

// Replace makes the terms of a record and replaces it: see [repo.Repo.Replace].
func (c *Collection[T]) Replace(ctx context.Context, record *T, opts ...repo.WriteOption) error {
	if err := c.fill(record); err != nil {
		return c.failed("replace", err)
	}
	return c.repo.Replace(ctx, record, opts...)
}

// Update changes a record by fn and makes its terms anew: see [repo.Repo.Update].
func (c *Collection[T]) Update(ctx context.Context, key repo.Key, fn func(*T) error, opts ...repo.WriteOption) (T, error) {
	return c.repo.Update(ctx, key, func(record *T) error {
		if err := fn(record); err != nil {
			return err
		}
		return c.fill(record)
	}, opts...)
}

// Delete removes a record with its index rows: see [repo.Repo.Delete].
func (c *Collection[T]) Delete(ctx context.Context, key repo.Key, opts ...repo.WriteOption) error {
	return c.repo.Delete(ctx, key, opts...)
}

// Get returns a record: see [repo.Repo.Get].
func (c *Collection[T]) Get(ctx context.Context, key repo.Key) (T, error) {
	return c.repo.Get(ctx, key)
}
