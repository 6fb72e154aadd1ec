package store

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Recall has records that were read under a context, for writes under it that expect the versions of these: so they
// are not read twice. No version comes back: so such a record is still what was read, or the commit is refused.
type Recall struct {
	Since time.Time // from before they were read

	mu   sync.Mutex
	rows []recalled

	of [3]recalling // what contexts have of it
}

type recalled struct {
	table *driver.Table
	key   driver.Key
	row   driver.Row
	mask  []int // with which it was read
}

// How many records a Recall makes room for at first, and has at most.
const (
	usualRecalled = 3
	mostRecalled  = 8
)

type recalling struct {
	all          *Recall
	keeps, whole bool
}

type recallKey struct{}

// NewRecall returns a Recall that has nothing yet.
func NewRecall() *Recall {
	r := &Recall{Since: time.Now()}
	r.of = [...]recalling{{r, false, false}, {r, true, false}, {r, true, true}}
	return r
}

// Writes returns a context whose writes recall what r has.
func (r *Recall) Writes(ctx context.Context) context.Context { return r.in(ctx, 0) }

// Checks returns a context whose reads r keeps, for checks. Its writes are those of [Recall.Writes].
func (r *Recall) Checks(ctx context.Context) context.Context { return r.in(ctx, 1) }

// Changes is Checks, and reads whole records: only such ones are recalled where a record is changed.
func (r *Recall) Changes(ctx context.Context) context.Context { return r.in(ctx, 2) }

func (r *Recall) in(ctx context.Context, i int) context.Context {
	if ctx == nil {
		return nil
	}
	return context.WithValue(ctx, recallKey{}, &r.of[i])
}

func recallingOf(ctx context.Context) *recalling {
	if ctx == nil {
		return nil
	}
	of, _ := ctx.Value(recallKey{}).(*recalling)
	return of
}

// RecallOf returns the Recall of the writes of a context, nil if there is none.
func RecallOf(ctx context.Context) *Recall {
	if of := recallingOf(ctx); of != nil {
		return of.all
	}
	return nil
}

// KeeperOf returns the Recall that keeps the reads of a context, nil if none does, and whether whole records are read.
func KeeperOf(ctx context.Context) (r *Recall, whole bool) {
	if of := recallingOf(ctx); of != nil && of.keeps {
		return of.all, of.whole
	}
	return nil, false
}

// Keep takes the row of a table under a key that was read with a mask, nil for all fields, and is there. What expires is
// not kept.
func (r *Recall) Keep(t *driver.Table, key driver.Key, row *driver.Row, mask []int) {
	if row.Expires != 0 {
		return
	}
	kept := recalled{t, key, *row, mask}
	kept.row.Fields, kept.row.Extra, kept.row.Ring = slices.Clone(row.Fields), slices.Clone(row.Extra), slices.Clone(row.Ring)
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := r.find(t, key); at >= 0 {
		r.rows[at] = kept
	} else if len(r.rows) < mostRecalled {
		if r.rows == nil {
			r.rows = make([]recalled, 0, usualRecalled)
		}
		r.rows = append(r.rows, kept)
	}
}

// Row returns the row of a table under a key, and the mask with which it was read; nil if there is none.
func (r *Recall) Row(t *driver.Table, key driver.Key) (row *driver.Row, mask []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.find(t, key)
	if at < 0 {
		return nil, nil
	}
	kept := r.rows[at] // which nobody changes but as a whole
	return &kept.row, kept.mask
}

func (r *Recall) find(t *driver.Table, key driver.Key) int {
	return slices.IndexFunc(r.rows, func(k recalled) bool { return k.table == t && k.key == key })
}
