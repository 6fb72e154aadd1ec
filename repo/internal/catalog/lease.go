package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/store"
)

// Programs of several versions may have a collection open, and one of them may change its
// schema. To ask the catalog at every call would cost a round trip. So a repository asks it
// now and then, beside its calls, and what it was told holds for the time of a lease, from
// when it asked. Who takes away what others may read by says so in the catalog, and waits
// for longer than a lease before it does so: by then each repository has been told, or asks
// before it answers. Where one process has the store alone, nobody waits and nobody asks.

const (
	leaseTime = 2 * time.Second
	leaseOver = leaseTime + leaseTime/4 // clocks do not run at quite the same pace
)

// A lease is when the catalog was last asked, and what spoke against the repository.
type lease struct {
	Since atomic.Pointer[time.Time] // when it was asked that had nothing against it
	lost  atomic.Pointer[error]

	mu     sync.Mutex
	under  *asking
	failed time.Time // when the catalog did not answer; zero when it last did
}

// An asking is a reading of the catalog under way.
type asking struct {
	done  chan struct{}
	again bool // the one before it got no answer, so that nobody waits long for this one
}

// isOver reports whether a time has passed since the catalog was asked. Of two clocks the one
// counts that says more: one may be set back, the other stops while the machine sleeps.
func (l *lease) isOver(d time.Duration) bool {
	since, now := l.Since.Load(), time.Now()
	return since == nil || max(now.Sub(*since), now.Round(0).Sub(since.Round(0))) >= d
}

// Renew asks the catalog beside the call that begins, in time before the lease is over.
func (c *Collection) Renew() {
	if !c.Store.Facts.OneProcess && c.Lease.isOver(leaseTime/2) {
		c.ask()
	}
}

// ask begins to read the catalog, or returns the reading under way. It returns nil if there is
// to be none: the store was closed, or the catalog could not be read a moment ago.
func (c *Collection) ask() *asking {
	l := &c.Lease
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under != nil || !l.failed.IsZero() && time.Since(l.failed) < leaseTime/2 {
		return l.under
	}
	a := &asking{done: make(chan struct{}), again: !l.failed.IsZero()}
	if c.Store.Beside(func() { c.reread(a) }) {
		l.under = a
	}
	return l.under
}

// reread reads the catalog, and keeps what it says of the repository.
func (c *Collection) reread(a *asking) {
	ctx, cancel := context.WithTimeout(context.Background(), leaseTime)
	defer cancel()
	began, k := time.Now(), store.Call{}
	e, err := ReadCatalog(ctx, c.Store, &k, c.Store.Cat, c.Name)
	if err == nil {
		if err = c.against(e); err == nil {
			c.know(e)
			c.Lease.Since.Store(&began)
		}
	}
	l := &c.Lease
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = time.Time{}
	switch {
	case errors.Is(err, driver.ErrSchema), errors.Is(err, driver.ErrCorrupt):
		l.lost.Store(&err)
	case err != nil:
		l.failed = time.Now()
	}
	l.under = nil
	close(a.done)
}

// against returns what an entry of the catalog says against a repository that is open.
func (c *Collection) against(e *Entry) error {
	switch {
	case e == nil || e.Dropping:
		return fmt.Errorf("another program dropped the collection: %w", driver.ErrSchema)
	case e.Making || e.Made != c.made:
		return fmt.Errorf("another program dropped the collection, and it was made anew since this repository was opened; open it again: %w", driver.ErrSchema)
	}
	build, err := e.Fits(c.Layout)
	if err != nil || len(build) > 0 {
		return fmt.Errorf("another program changed the schema since this repository was opened; open it again: %w", errors.Join(append(errorsOf(build), err)...))
	}
	return nil
}

func errorsOf(build []*layout.Index) []error {
	var list []error
	for _, x := range build {
		list = append(list, fmt.Errorf("index %s was removed, or is being built: %w", x.ID, driver.ErrSchema))
	}
	return list
}

// know takes over what an entry says of the records.
func (c *Collection) know(e *Entry) {
	if e.Expires || e.Expiring {
		c.Shared.expires.Store(true)
	}
	if e.Expires {
		c.Shared.Settled.Store(true)
	}
	c.Shared.learn(e.Presence())
	c.noStrays(e)
}

// Gone returns why the repository must not be used any more.
func (c *Collection) Gone() error {
	if c.drops != c.Shared.Drops.Load() {
		return ErrSchemaChanged
	}
	if err := c.Lease.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// Holds returns an error if what was just read may lack something because the schema was
// changed. Where the catalog cannot be read, what is read counts: a program that still
// reads the records is not to stop for it, nor to wait each time.
func (c *Collection) Holds(ctx context.Context) error {
	for {
		if err := c.Gone(); err != nil {
			return err
		}
		if c.Store.Facts.OneProcess || !c.Lease.isOver(leaseTime) {
			return nil
		}
		a := c.ask()
		if a == nil {
			return nil
		}
		var enough <-chan time.Time
		if a.again {
			enough = time.After(leaseTime / 20)
		}
		select {
		case <-a.done:
		case <-enough:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("while the catalog was read: %w: %w", driver.ErrTimeout, ctx.Err())
		}
	}
}

// OutlastLease waits until every repository, in every program, knows what the catalog says since
// a time.
func OutlastLease(ctx context.Context, s *store.Handle, since time.Time) error {
	if s.Facts.OneProcess {
		return nil
	}
	t := time.NewTimer(time.Until(since.Add(leaseOver)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("while other programs were told, which takes %s: %w: %w", leaseOver, driver.ErrTimeout, ctx.Err())
	}
}

// Announce lets try change what the catalog says of the records, again and again while other
// programs are faster.
func (c *Collection) Announce(ctx context.Context, k *store.Call, try func(*Entry) (ok bool, err error)) error {
	if k.Within {
		return nil // the record is one that is there
	}
	if err := c.Shared.Gate.Shut(ctx); err != nil {
		return err
	}
	defer c.Shared.Gate.Open()
	for range limit.MaxAttempts {
		if err := c.Gone(); err != nil {
			return err
		}
		e, err := ReadCatalog(ctx, c.Store, k, c.Store.Cat, c.Name)
		if err == nil {
			err = c.against(e)
		}
		if err != nil {
			return err
		}
		if ok, err := try(e); ok || err != nil {
			return err
		}
	}
	return failure.Contention("other programs keep changing the catalog")
}

// outlast waits until every program knows what the catalog says of some things. A call with
// less time than that leaves the rest of the waiting to the next one. The caller holds the gate.
func (c *Collection) outlast(ctx context.Context, e *Entry, what ...string) error {
	var since time.Time
	for _, name := range what {
		name = e.Made + "." + name
		if c.Shared.told[name].IsZero() {
			c.Shared.told[name] = time.Now()
		}
		if at := c.Shared.told[name]; at.After(since) {
			since = at
		}
	}
	return OutlastLease(ctx, c.Store, since)
}
