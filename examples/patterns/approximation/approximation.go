// Package approximation counts much and writes little: a counter is written when so many counts have gathered. What is
// stored is too low by less than that for each program, also if programs end without Flush. It is not for numbers that
// must be right.
package approximation

import (
	"context"
	"errors"
	"sync"

	"github.com/polystore/polystore/repo"
)

// A Count is a number of views as it is stored.
type Count struct {
	Page  string `repo:"page"`
	Views int64  `repo:"views"`
}

// A Counter counts the views of pages. It is for any number of goroutines.
type Counter struct {
	counts *repo.Repo[Count]
	every  int64

	mu       sync.Mutex
	gathered map[string]int64
}

// Open opens a counter that writes every so many views of a page.
func Open(ctx context.Context, store *repo.Store, every int64) (*Counter, error) {
	r, err := repo.Open[Count](ctx, store, repo.Schema{Collection: "page_views", Partition: []string{"page"}})
	return &Counter{counts: r, every: every, gathered: map[string]int64{}}, err
}

// View counts a view. If it fails, the views that have gathered of the page may not be stored.
func (c *Counter) View(ctx context.Context, page string) error {
	c.mu.Lock()
	c.gathered[page]++
	n := c.gathered[page]
	if n < c.every {
		c.mu.Unlock()
		return nil
	}
	delete(c.gathered, page)
	c.mu.Unlock()
	return c.write(ctx, page, n)
}

// Flush writes what has gathered.
func (c *Counter) Flush(ctx context.Context) error {
	c.mu.Lock()
	gathered := c.gathered
	c.gathered = map[string]int64{}
	c.mu.Unlock()
	var errs []error
	for page, n := range gathered {
		errs = append(errs, c.write(ctx, page, n))
	}
	return errors.Join(errs...)
}

func (c *Counter) write(ctx context.Context, page string, n int64) error {
	_, err := c.counts.Patch(ctx, repo.Key{page}, repo.Add("views", n))
	if errors.Is(err, repo.ErrNotFound) {
		if err = c.counts.Insert(ctx, &Count{Page: page, Views: n}); errors.Is(err, repo.ErrExists) { // another program was faster
			_, err = c.counts.Patch(ctx, repo.Key{page}, repo.Add("views", n))
		}
	}
	return err
}

// Views returns what is stored of the views of a page.
func (c *Counter) Views(ctx context.Context, page string) (int64, error) {
	n, err := c.counts.Get(ctx, repo.Key{page})
	if errors.Is(err, repo.ErrNotFound) {
		err = nil
	}
	return n.Views, err
}
