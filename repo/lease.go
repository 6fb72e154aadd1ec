package repo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
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
	since atomic.Pointer[time.Time] // when it was asked that had nothing against it
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
	since, now := l.since.Load(), time.Now()
	return since == nil || max(now.Sub(*since), now.Round(0).Sub(since.Round(0))) >= d
}

// renew asks the catalog beside the call that begins, in time before the lease is over.
func (c *collection) renew() {
	if !c.store.facts.OneProcess && c.lease.isOver(leaseTime/2) {
		c.ask()
	}
}

// ask begins to read the catalog, or returns the reading under way. It returns nil if there is
// to be none: the store was closed, or the catalog could not be read a moment ago.
func (c *collection) ask() *asking {
	l := &c.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under != nil || !l.failed.IsZero() && time.Since(l.failed) < leaseTime/2 {
		return l.under
	}
	a := &asking{done: make(chan struct{}), again: !l.failed.IsZero()}
	if c.store.beside(func() { c.reread(a) }) {
		l.under = a
	}
	return l.under
}

// reread reads the catalog, and keeps what it says of the repository.
func (c *collection) reread(a *asking) {
	ctx, cancel := context.WithTimeout(context.Background(), leaseTime)
	defer cancel()
	began, k := time.Now(), call{}
	e, err := c.store.readCatalog(ctx, &k, c.store.cat, c.name)
	if err == nil {
		if err = c.against(e); err == nil {
			c.know(e)
			c.lease.since.Store(&began)
		}
	}
	l := &c.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = time.Time{}
	switch {
	case errors.Is(err, ErrSchema), errors.Is(err, ErrCorrupt):
		l.lost.Store(&err)
	case err != nil:
		l.failed = time.Now()
	}
	l.under = nil
	close(a.done)
}

// against returns what an entry of the catalog says against a repository that is open.
func (c *collection) against(e *catalogEntry) error {
	switch {
	case e == nil || e.Dropping:
		return fmt.Errorf("another program dropped the collection: %w", ErrSchema)
	case e.Making || e.Made != c.made:
		return fmt.Errorf("another program dropped the collection, and it was made anew since this repository was opened; open it again: %w", ErrSchema)
	}
	build, err := e.fits(c)
	if err != nil || len(build) > 0 {
		return fmt.Errorf("another program changed the schema since this repository was opened; open it again: %w", errors.Join(append(errorsOf(build), err)...))
	}
	return nil
}

func errorsOf(build []*index) []error {
	var list []error
	for _, x := range build {
		list = append(list, fmt.Errorf("index %s was removed, or is being built: %w", x.name, ErrSchema))
	}
	return list
}

// know takes over what an entry says of the records.
func (c *collection) know(e *catalogEntry) {
	if e.Expires || e.Expiring {
		c.shared.expires.Store(true)
	}
	if e.Expires {
		c.shared.settled.Store(true)
	}
	c.shared.learn(e.presence())
	c.noStrays(e)
}

// gone returns why the repository must not be used any more.
func (c *collection) gone() error {
	if c.drops != c.shared.drops.Load() {
		return errSchemaChanged
	}
	if err := c.lease.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// holds returns an error if what was just read may lack something because the schema was
// changed. Where the catalog cannot be read, what is read counts: a program that still
// reads the records is not to stop for it, nor to wait each time.
func (c *collection) holds(ctx context.Context) error {
	for {
		if err := c.gone(); err != nil {
			return err
		}
		if c.store.facts.OneProcess || !c.lease.isOver(leaseTime) {
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
			return fmt.Errorf("while the catalog was read: %w: %w", ErrTimeout, ctx.Err())
		}
	}
}

// outlast waits until every repository, in every program, knows what the catalog says since
// a time.
func (s *Store) outlast(ctx context.Context, since time.Time) error {
	if s.facts.OneProcess {
		return nil
	}
	t := time.NewTimer(time.Until(since.Add(leaseOver)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("while other programs were told, which takes %s: %w: %w", leaseOver, ErrTimeout, ctx.Err())
	}
}

// announce lets try change what the catalog says of the records, again and again while other
// programs are faster.
func (c *collection) announce(ctx context.Context, k *call, try func(*catalogEntry) (ok bool, err error)) error {
	if k.within {
		return nil // the record is one that is there
	}
	if err := c.shared.gate.shut(ctx); err != nil {
		return err
	}
	defer c.shared.gate.open()
	for range maxAttempts {
		if err := c.gone(); err != nil {
			return err
		}
		e, err := c.store.readCatalog(ctx, k, c.store.cat, c.name)
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
	return contention("other programs keep changing the catalog")
}

// outlast waits until every program knows what the catalog says of some things. A call with
// less time than that leaves the rest of the waiting to the next one. The caller holds the gate.
func (c *collection) outlast(ctx context.Context, e *catalogEntry, what ...string) error {
	var since time.Time
	for _, name := range what {
		name = e.Made + "." + name
		if c.shared.told[name].IsZero() {
			c.shared.told[name] = time.Now()
		}
		if at := c.shared.told[name]; at.After(since) {
			since = at
		}
	}
	return c.store.outlast(ctx, since)
}

// A background is what a store does beside its calls.
type background struct {
	mu     sync.Mutex
	closed bool
	over   chan struct{} // closed, too
	all    sync.WaitGroup
}

// beside does something beside the calls, and reports false if the store is closed.
func (s *Store) beside(do func()) bool {
	b := &s.background
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.all.Go(do)
	}
	return !b.closed
}

// enter begins what close ends and waits for. It returns a context that ends then with ErrClosed.
func (b *background) enter(ctx context.Context) (within context.Context, leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, fmt.Errorf("the store was closed: %w", ErrClosed)
	}
	within, cancel := context.WithCancelCause(ctx)
	b.all.Add(1)
	b.all.Go(func() {
		select {
		case <-b.over:
			cancel(fmt.Errorf("the store was closed: %w", ErrClosed))
		case <-within.Done():
		}
	})
	return within, func() { cancel(nil); b.all.Done() }, nil
}

// close ends what has entered, and waits for what is under way.
func (b *background) close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.over)
	}
	b.mu.Unlock()
	b.all.Wait()
}
