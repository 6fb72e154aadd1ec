package conformance

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// lockOfHandle looks at conditions first and writes later, under a lock that only this handle
// knows.
func lockOfHandle(b *broken) {
	var mu sync.Mutex
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		mu.Lock()
		defer mu.Unlock()
		forced := double.CopyOps(ops)
		for i := range forced {
			if !b.foresees(token, &forced[i]) {
				return b.Store.Commit(ctx, token, ops) // which refuses it, or has done it before
			}
		}
		time.Sleep(rand.N(400 * time.Microsecond))
		return b.Store.Commit(ctx, token, forced)
	}
}

// foresees reports whether the condition of an op holds, and takes it away.
func (b *broken) foresees(token driver.Token, op *driver.Op) bool {
	old := b.stored(op)
	if op.Validate() != nil || op.Do == driver.Fence || slices.Contains(old.Ring, token) {
		return false
	}
	holds := true
	switch op.If {
	case driver.Absent:
		holds = old.Rev.IsZero()
	case driver.Present:
		holds = !old.Rev.IsZero() && !old.Dead
	case driver.AtRev:
		holds = !old.Rev.IsZero() && old.Rev == op.Rev && (op.Do != driver.Patch || !old.Dead)
	}
	if op.If = driver.Any; op.Do == driver.Patch {
		op.If = driver.Present
	}
	return holds
}

// A rowCache is what a handle has read since it last wrote.
type rowCache struct {
	mu      sync.Mutex
	writes  int // how many have begun or ended
	writing int // how many are under way
	rows    map[string][]driver.Row
}

// read returns what was read under a name, or else what read returns.
func (c *rowCache) read(name string, read func() ([]driver.Row, error)) ([]driver.Row, error) {
	c.mu.Lock()
	rows, ok := c.rows[name]
	before, quiet := c.writes, c.writing == 0
	c.mu.Unlock()
	if ok {
		return rows, nil
	}
	rows, err := read()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && quiet && c.writes == before {
		c.rows[name] = rows
	}
	return rows, err
}

// wrote forgets everything when a commit begins or ends.
func (c *rowCache) wrote(writing int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	c.writing += writing
	c.rows = map[string][]driver.Row{}
}

// cacheOfHandle answers what it has read before, unless it has written itself since.
func cacheOfHandle(b *broken) {
	cache := &rowCache{rows: map[string][]driver.Row{}}
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		cache.wrote(1)
		defer cache.wrote(-1)
		return b.Store.Commit(ctx, token, ops)
	}
	b.get = func(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
		got, err := cache.read(fmt.Sprint("get ", t.Name, keys, mask == nil, mask), func() ([]driver.Row, error) {
			fresh := make([]driver.Row, len(keys))
			return fresh, b.Store.Get(ctx, t, keys, mask, fresh)
		})
		for i := range got {
			rows[i] = double.CopyRow(&got[i])
		}
		return err
	}
	b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
		if s.Table.Name[0] == '_' || s.Table.Native {
			return b.Store.Range(ctx, s)
		}
		return func(yield func(*driver.Row, error) bool) {
			rows, err := cache.read(fmt.Sprint("range ", s, s.Mask == nil), func() ([]driver.Row, error) { return table.Rows(ctx, b.Store, s) })
			for _, r := range slices.Clone(rows) {
				if err = b.Store.Get(ctx, s.Table, nil, nil, nil); err != nil {
					break // the context has ended, say
				}
				if !yield(&r, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	}
}

// knowsAtOpen takes a table for none that was defined by another handle meanwhile.
func knowsAtOpen(b *broken) {
	known := map[string]bool{}
	define := func(ctx context.Context, tables []*driver.Table) error {
		for _, t := range tables {
			known[t.Name] = true
		}
		return b.Store.Define(ctx, tables)
	}
	b.define = define
	opening := true
	b.attach = func(ctx context.Context, tables []*driver.Table) error {
		if opening { // what there was when it was opened
			for _, t := range tables {
				known[t.Name] = true
			}
			opening = false
		}
		for _, t := range tables {
			if !known[t.Name] {
				return driver.ErrSchema
			}
		}
		return b.Store.Attach(ctx, tables)
	}
}
