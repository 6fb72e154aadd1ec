package conformance

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/conformance/internal/spi"
	"github.com/polystore/polystore/repo/driver"
)

func chunkFault(change func(t *driver.Table, n int, c *driver.Chunk) bool) fault {
	return func(b *broken) { b.chunk = change }
}

// walksPast leaves the first row of every chunk out.
func walksPast() fault {
	return chunkFault(func(t *driver.Table, _ int, c *driver.Chunk) bool {
		if t.Name[0] != '_' {
			c.Rows = c.Rows[min(1, len(c.Rows)):]
		}
		return true
	})
}

// defineClears empties a table that is defined again.
func defineClears() fault {
	return func(b *broken) {
		b.define = func(ctx context.Context, tables []*driver.Table) error {
			for _, t := range tables {
				if t.Name[0] != '_' {
					if err := b.Store.Drop(ctx, []*driver.Table{t}); err != nil {
						return err
					}
				}
			}
			return b.Store.Define(ctx, tables)
		}
	}
}

// noCatalog keeps nothing of what was declared: every program finds a store that is
// new to it.
func noCatalog() fault {
	return func(b *broken) {
		nothingIsSchema(b)
		b.key = func(t *driver.Table, k driver.Key) driver.Key {
			if t.Name[0] == '_' {
				k.Partition = driver.NewToken().String() + "#"
			}
			return k
		}
	}
}

// fixedFields refuses to add fields to a table.
func fixedFields() fault {
	return func(b *broken) {
		known := map[string]int{}
		b.define = func(ctx context.Context, tables []*driver.Table) error {
			for _, t := range tables {
				if n, ok := known[t.Name]; ok && n != len(t.Fields) {
					return driver.ErrSchema
				}
				known[t.Name] = len(t.Fields)
			}
			return b.Store.Define(ctx, tables)
		}
	}
}

func attachRefuses(b *broken) {
	b.attach = func(context.Context, []*driver.Table) error { return driver.ErrSchema }
}

func staysOpen(b *broken) { b.close = func() error { return nil } }

// slowWriters answers commits that were under way at Close long after it.
func slowWriters(b *broken) {
	var closed atomic.Bool
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		refusal, err := b.Store.Commit(ctx, token, ops)
		time.Sleep(3 * time.Millisecond)
		if closed.Load() && err == nil {
			time.Sleep(spi.Grace + spi.Grace/2)
		}
		return refusal, err
	}
	b.close = func() error {
		closed.Store(true)
		return b.Store.Close()
	}
}

func bare(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}
