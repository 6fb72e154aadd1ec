package history

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
)

// A History writes records with their revisions, and reads revisions. Many goroutines and programs may use a History of
// one collection at once. Make one with [Open].
type History[T any] struct {
	collection string
	key        []string // the fields of the records' key
	keep       Keep
	form       form
	records    *repo.Repo[T]
	versions   *repo.View[versioned]
	rows       *repo.Repo[map[string]any] // revisions
	marks      *repo.View[mark]           // without the records in them
	contents   *repo.View[T]              // these alone
}

// Keep says which revisions are kept. The newest revision of a record that is there is always kept. The zero value
// keeps all.
type Keep struct {
	// Revisions is how many revisions of a record are kept; 0 is all. Each write removes those that it makes too many.
	Revisions int

	// For is how long a revision is kept after another one followed, a second at least; 0 is for ever. The last revision
	// of a deleted record is kept as long, and then the numbers begin at 1 again.
	For time.Duration
}

// versioned is the least view of a record.
type versioned struct {
	Version repo.Version `repo:",version"`
}

const suffix = "_history"

// Open opens a collection of records and that of their revisions, which are made if they are not there. Records that
// are there already have no revision until they are written or adopted. Programs that share a collection have the same
// keep. After keep was changed to less, [History.Prune] removes what is too much by now.
func Open[T any](ctx context.Context, store *repo.Store, schema repo.Schema, keep Keep, opts ...repo.OpenOption) (*History[T], error) {
	h := &History[T]{collection: schema.Collection, keep: keep, form: formOf(reflect.TypeFor[T]())}
	if keep.Revisions < 0 || keep.For < 0 || keep.For > 0 && keep.For < time.Second {
		return nil, h.failed("open", fmt.Errorf("%d revisions and %v are kept; give no negative number, and a second at least: %w", keep.Revisions, keep.For, repo.ErrInvalid))
	}
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Interface {
		return nil, h.failed("open", fmt.Errorf("records of the type %s may be of several types, and those have no history; open it for a struct with the fields of all of them: %w", t, repo.ErrSchema))
	}
	for _, name := range slices.Concat(schema.Partition, schema.Sort) {
		h.key = append(h.key, strings.TrimPrefix(name, "-"))
	}
	var err error
	if h.records, err = repo.Open[T](ctx, store, schema, opts...); err != nil {
		return nil, err
	}
	if h.versions, err = repo.ViewOf[versioned](h.records); err != nil {
		return nil, err
	}
	if h.rows, err = openRows(ctx, store, schema, opts); err != nil {
		return nil, err
	}
	if h.marks, err = repo.ViewOf[mark](h.rows); err != nil {
		return nil, err
	}
	if h.contents, err = repo.ViewOf[T](h.rows); err != nil {
		return nil, err
	}
	return h, nil
}

// openRows opens the collection of revisions: its records have the fields of the others, and those of a mark.
func openRows(ctx context.Context, store *repo.Store, schema repo.Schema, opts []repo.OpenOption) (*repo.Repo[map[string]any], error) {
	of, err := repo.SchemaOf(ctx, store, schema.Collection)
	if err != nil {
		return nil, err
	}
	for name, kind := range markKinds {
		if of.Fields[name] != "" {
			return nil, &repo.Error{Op: "open", Collection: schema.Collection,
				Err: fmt.Errorf("the field %s is one of a history; give it another name: %w", name, repo.ErrSchema)}
		}
		of.Fields[name] = kind
	}
	if of.With == "" {
		of.With = schema.Collection
	}
	return repo.Open[map[string]any](ctx, store, repo.Schema{
		Collection: schema.Collection + suffix,
		With:       of.With,
		Partition:  of.Partition,
		Sort:       append(of.Sort, "-"+numberField),
		Fields:     of.Fields,
	}, opts...)
}

// Records returns the plain repository of the records, for reads and queries. What it writes has no revision.
func (h *History[T]) Records() *repo.Repo[T] {
	if h == nil {
		return nil
	}
	return h.records
}

// Resolve finds out what became of a write through a History that ended with [repo.ErrUnknownOutcome], as
// [repo.Repo.Resolve] does: the record and its revision were written, or neither.
func (h *History[T]) Resolve(ctx context.Context, outcome *repo.Outcome) (repo.Verdict, error) {
	if err := h.opened(); err != nil {
		return repo.Unknown, h.failed("resolve", err)
	}
	return h.rows.Resolve(ctx, outcome) // a revision is the first record of each commit
}

// opened says what is wrong with a History that Open did not make.
func (h *History[T]) opened() error {
	if h == nil || h.rows == nil {
		return fmt.Errorf("the history is empty; make one with Open: %w", repo.ErrInvalid)
	}
	return nil
}

// failed makes err the error of an operation.
func (h *History[T]) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	out := repo.Error{Err: err, Retryable: errors.Is(err, repo.ErrContention)}
	if e, ok := err.(*repo.Error); ok { //nolint:errorlint // not what is within another error
		out = *e
	} else if h != nil {
		out.Collection = h.collection
	}
	out.Op = op
	return &out
}
