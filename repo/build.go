package repo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/store"
	"github.com/polystore/polystore/repo/internal/upkeep"
)

// buildAgain is how long a build rests that the store did not let go on.
const buildAgain = time.Second

// buildBeside brings the indexes of the collection that are not ready to their end, beside its calls,
// at a rate. It is done by one goroutine for all repositories on the collection, for the one that was opened last.
func (c *collection) buildBeside(rate *int) {
	job := func(ctx context.Context) { c.buildAll(ctx, rate) }
	sh := c.Shared
	if sh.Wanted.Store(&job); !sh.Building.CompareAndSwap(false, true) {
		return
	}
	if !c.Store.Beside(func() { c.buildWanted() }) {
		sh.Building.Store(false)
	}
}

// buildWanted does what was asked for last, until nobody has asked meanwhile.
func (c *collection) buildWanted() {
	for sh := c.Shared; ; {
		job := sh.Wanted.Load()
		if ctx, leave, err := c.Store.Background.Enter(context.Background()); err == nil { // else it is closed
			(*job)(ctx)
			leave()
		}
		sh.Building.Store(false)
		if sh.Wanted.Load() == job || !sh.Building.CompareAndSwap(false, true) {
			return // who asks from now on sees that nobody builds
		}
	}
}

func (c *collection) buildAll(ctx context.Context, rate *int) {
	for {
		err := c.build(ctx, rate)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) || c.newest().Gone() != nil {
			return
		}
		c.Shared.Stuck.Store(&err)
		if store.SleepUntil(ctx, time.Now().Add(buildAgain)) != nil {
			return // closed
		}
	}
}

// build is one attempt.
func (c *collection) build(ctx context.Context, rate *int) error {
	ctx, k := c.Store.Begin(ctx, "build", c.Name)
	defer k.Leave()
	return k.End(upkeep.Build(ctx, &k, rate, func() *upkeep.Keeper { return c.newest().Keeper }))
}

const (
	readyAgain = 100 * time.Millisecond // how long Ready waits before it looks again
	goingFor   = 15 * time.Second       // how long it waits to see why an index is being removed
)

// Ready returns when queries of r may use an index that is being built: see [WithBuild]. An index that could not be
// built, since two records have one value, or a record has none that an index can have, is ErrExists or ErrInvalid, and
// the error says which records these are. One that the store does not have is ErrNotFound, and one that has been going
// for 15 seconds, since its removal was stopped or takes long, is ErrContention. Ready ends with its context.
func (r *Repo[T]) Ready(ctx context.Context, index string) error {
	ctx, c, k := begin(ctx, "ready", r)
	defer k.Leave()
	if ctx == nil {
		return c.end(&k, nil, failure.ErrNoContext)
	}
	var going time.Time // since when the index is being removed
	state := "not known"
	for {
		done, e, err := c.newest().isReady(ctx, &k, index)
		if e != nil {
			state = e.State(index)
		}
		switch leaves := e.Going(index); {
		case leaves == nil:
			going = time.Time{}
		case going.IsZero():
			going = time.Now()
		case time.Since(going) > goingFor:
			err = leaves
		}
		if !done && err == nil {
			err = store.SleepUntil(ctx, time.Now().Add(readyAgain))
		}
		switch {
		case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
			if stuck := c.Shared.Stuck.Load(); stuck != nil {
				err = fmt.Errorf("%w; the last attempt at it: %w", err, *stuck)
			}
			return c.end(&k, nil, fmt.Errorf("index %s is not ready: it is %s: %w", index, state, err))
		case done || err != nil:
			return c.end(&k, nil, err)
		}
	}
}

// isReady reports whether queries may use an index, and returns what the catalog has of the collection if they may not.
func (c *collection) isReady(ctx context.Context, k *store.Call, index string) (done bool, e *catalog.Entry, err error) {
	if err := c.Told(ctx); err != nil {
		return false, nil, err
	}
	for _, x := range c.newest().Indexes {
		if x.ID == index && x.Stage == layout.Ready {
			return true, nil, nil
		}
	}
	if e, err = catalog.ReadCatalog(ctx, c.Store, k, c.Store.Cat, c.Name); err == nil {
		err = e.WhyNot(index)
	}
	return false, e, err
}
