package repo

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// Sizes are the bytes that a collection occupies, by the store's own account:
// Facts().Sizes says what that includes.
type Sizes struct {
	Records int64            // of the records themselves
	Indexes map[string]int64 // of the rows of each index, by its name
}

// Total returns all bytes together.
func (s Sizes) Total() int64 {
	sum := s.Records
	for _, n := range s.Indexes {
		sum += n
	}
	return sum
}

// Sizes returns what the collection occupies. A store that does not know is
// ErrUnsupported.
func (r *Repo[T]) Sizes(ctx context.Context) (Sizes, error) {
	ctx, c, k := begin(ctx, "sizes", r)
	defer k.Leave()
	s, err := c.sizes(ctx, &k)
	return s, c.end(&k, nil, err)
}

func (c *collection) sizes(ctx context.Context, k *store.Call) (Sizes, error) {
	if ctx == nil {
		return Sizes{}, failure.ErrNoContext
	}
	sizer, ok := c.Store.Driver.(driver.Sizer)
	if f := &c.Store.Facts; !ok || !f.Sizes.Has {
		return Sizes{}, fmt.Errorf("%s does not say what its tables occupy: %s: %w", f.Name, f.Sizes.Reason, ErrUnsupported)
	}
	out := Sizes{Indexes: map[string]int64{}}
	var err error
	if out.Records, err = c.sizeOf(ctx, k, sizer, c.Records); err != nil {
		return Sizes{}, err
	}
	for _, x := range c.Indexes {
		if out.Indexes[x.ID], err = c.sizeOf(ctx, k, sizer, x.Table); err != nil {
			return Sizes{}, fmt.Errorf("index %s: %w", x.ID, err)
		}
	}
	return out, nil
}

func (c *collection) sizeOf(ctx context.Context, k *store.Call, sizer driver.Sizer, t *driver.Table) (int64, error) {
	return sizer.Size(k.Asks(ctx, 1), t)
}
