package frame

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A Backend is what an author writes of a store. V is what it keeps of a table that a program knows. No method is
// called when the store is closed, or with a context that is over.
type Backend[V any] interface {
	// Tables reads what there is of tables. It refuses with an error what speaks against them beside that. They
	// are none that [Validate] refuses, and no native indexes. Doing is "define" or "attach", for errors.
	Tables(ctx context.Context, doing string, tables []*driver.Table) (Tables[V], error)

	// Drop removes tables, as that of driver.Store does. Nobody uses or defines tables meanwhile by this store.
	Drop(ctx context.Context, tables []*driver.Table) error

	// Get reads as many rows as there are keys, as that of driver.Store does.
	Get(ctx context.Context, v *V, keys []driver.Key, mask []int, rows []driver.Row) error

	// Range and Walk are those of driver.Store: loops, which have nothing before they begin. [Frame.Pages] and
	// [Frame.Chunks] make them of calls that read once; others begin each step with [Frame.Enter].
	Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error]
	Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error]

	// Commit does one op or more, or none of them, as that of driver.Store does. There is a token, each op is
	// valid and in the commit scope of Facts, and no key is named twice. Views, which are the store's again afterwards,
	// has what is known of the table of each op.
	Commit(ctx context.Context, token driver.Token, ops []driver.Op, views []*V) (*driver.Refusal, error)

	// Close is called once, when no call is under way and none can come.
	Close() error
}

// Tables are what there is of some tables at a moment.
type Tables[V any] interface {
	// Absent says what of a table is not there, for whoever needs it: ErrSchema, nil if all is.
	Absent(t *driver.Table) error

	// Declare makes what is absent of tables.
	Declare(ctx context.Context, tables []*driver.Table) error

	// View returns what is to be known of a table that is there.
	View(t *driver.Table) *V
}

// Natives is a Backend that keeps native indexes.
type Natives[V any] interface {
	// Native makes a native index exist or, unless define, sees that it does. It is none that
	// [ValidateNative] refuses.
	Native(ctx context.Context, doing string, t *driver.Table, define bool) (*V, error)
}

// A Frame is what a store is and knows beside what its Backend has. The Backend uses it for loops, and for calls that
// only some stores have.
type Frame[V any] struct {
	name  Name
	facts driver.Facts

	life   life
	schema sync.RWMutex // held to change tables and, by readers, to get to know them
	views  views[V]
	lists  sync.Pool // of views of a commit
}

// New returns the frame of a store that is open.
func New[V any](name Name, facts driver.Facts) *Frame[V] {
	f := &Frame[V]{name: name, facts: facts}
	f.lists.New = func() any { return new([]*V) }
	return f
}

// Enter begins a call. Without an error the caller must Leave. It is ErrClosed when Close has begun, and another one
// if ctx is over, or nil.
func (f *Frame[V]) Enter(ctx context.Context) error {
	if over := Over(ctx); over != nil {
		return f.name.Ended(over)
	}
	return f.life.enter()
}

// Leave ends a call.
func (f *Frame[V]) Leave() { f.life.leave() }

// View returns what is known of t, which may be a native index, for a read with a mask.
func (f *Frame[V]) View(t *driver.Table, mask []int) (*V, error) {
	v, err := f.known(t)
	if err != nil {
		return nil, err
	}
	if t.Native {
		t = t.Home
	}
	return v, f.name.Wrap(t.ValidateMask(mask))
}

func (f *Frame[V]) known(t *driver.Table) (*V, error) {
	if v := f.views.of(t); v != nil {
		return v, nil
	}
	return nil, f.name.Wrap(unknown(t))
}

// rows returns what is known of a table whose rows lie there.
func (f *Frame[V]) rows(t *driver.Table, mask []int) (*V, error) {
	if t != nil && t.Native {
		return nil, f.name.Invalid("table %s is a native index, which is only read in order", t.Name)
	}
	return f.View(t, mask)
}

// Each calls do for each table that is known, and what is known of it.
func (f *Frame[V]) Each(do func(*driver.Table, *V)) { f.views.each(do) }

// Know makes v what is known of t.
func (f *Frame[V]) Know(t *driver.Table, v *V) {
	f.views.set([]*driver.Table{t}, func(*driver.Table) *V { return v })
}

// Forget makes tables unknown.
func (f *Frame[V]) Forget(tables ...*driver.Table) { f.views.forget(tables) }

// Call is a call of a store that concerns no table.
func Call[V, R any](ctx context.Context, f *Frame[V], do func(ctx context.Context) (R, error)) (r R, err error) {
	if err := f.Enter(ctx); err != nil {
		return r, err
	}
	defer f.Leave()
	return do(ctx)
}

// Read is a call of a store that reads a table with a mask.
func Read[V, R any](
	ctx context.Context, f *Frame[V], t *driver.Table, mask []int, do func(v *V) (R, error),
) (r R, err error) {
	if err := f.Enter(ctx); err != nil {
		return r, err
	}
	defer f.Leave()
	v, err := f.View(t, mask)
	if err != nil {
		return r, err
	}
	return do(v)
}

// Erase calls do, which removes a place, if its name allows it: driver.Eraser. What says in words what the name is of.
func (f *Frame[V]) Erase(ctx context.Context, what, name string, do func(ctx context.Context) error) error {
	if err := f.Enter(ctx); err != nil {
		return err
	}
	defer f.Leave()
	if !strings.HasPrefix(name, driver.Temporary) {
		return f.name.Invalid("erase: %s %q does not begin with %q, so that others may need what is there",
			what, name, driver.Temporary)
	}
	f.schema.Lock()
	defer f.schema.Unlock()
	return do(ctx)
}

// Pages yields the rows of a span as read reads them, page by page; see [Pager]. The first page has the size that
// Facts says, or all that a page can have.
func (f *Frame[V]) Pages(
	ctx context.Context, span driver.Span, read func(ctx context.Context, v *V, p *Pager) error,
	yield func(*driver.Row, error) bool,
) {
	pages(span, cmp.Or(f.facts.Paging.First, MostRows), func(p *Pager) error {
		if err := f.Enter(ctx); err != nil {
			return err
		}
		defer f.Leave()
		v, err := f.View(span.Table, span.Mask)
		if err != nil {
			return err
		}
		return read(ctx, v, p)
	}, yield)
}

// Chunks yields what read returns of a table, chunk after chunk, each read from the mark of the one before, until one
// has none. The error of one is its last, unless it is a driver.Unread.
func (f *Frame[V]) Chunks(
	ctx context.Context, t *driver.Table, mark string,
	read func(ctx context.Context, v *V, mark string) (driver.Chunk, error),
) iter.Seq2[driver.Chunk, error] {
	return walk(mark, func(mark string) (driver.Chunk, error) {
		return Read(ctx, f, t, nil, func(v *V) (driver.Chunk, error) { return read(ctx, v, mark) })
	})
}
