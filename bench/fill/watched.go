package main

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A watched is a store of which is seen when an index is filled: the records are walked then, or the store makes it.
type watched struct {
	driver.Store
	table string // of the records

	mu sync.Mutex
	seen
}

// A seen is a filling, from its beginning to its end.
type seen struct {
	began, ended time.Time
	records      int // that were read
}

func (s *seen) seconds() float64 { return s.ended.Sub(s.began).Seconds() }

// filling returns what is seen so far of a filling.
func (w *watched) filling() seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *watched) note(change func(*seen)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.seen)
}

func (w *watched) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	all := w.Store.Walk(ctx, t, mark)
	if t.Name != w.table {
		return all
	}
	return func(yield func(driver.Chunk, error) bool) {
		began := time.Now()
		defer w.note(func(s *seen) {
			if s.began.Equal(began) {
				s.ended = time.Now()
			}
		})
		for chunk, err := range all {
			if !yield(chunk, err) {
				return // Open looks at one chunk, to see whether there are records
			}
			w.note(func(s *seen) {
				if !s.began.Equal(began) {
					*s = seen{began: began}
				}
				s.records += len(chunk.Rows)
			})
		}
	}
}

func (w *watched) Define(ctx context.Context, tables []*driver.Table) error {
	native := len(tables) == 1 && tables[0].Native
	if native {
		w.note(func(s *seen) { *s = seen{began: time.Now()} })
	}
	err := w.Store.Define(ctx, tables)
	if native {
		w.note(func(s *seen) { s.ended = time.Now() })
	}
	return err
}
