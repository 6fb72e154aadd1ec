package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
// when it asked: that is its view. Who changes what others go by says so in the catalog, and waits
// for longer than a lease before the next step: by then each repository has been told, or asks
// before it writes or answers. Where one process has the store alone it is told of a change at once, and its
// calls under way may go on for a moment.

const (
	leaseTime = 2 * time.Second
	holdOn    = 200 * time.Millisecond // the same, where one process has the store alone
)

// leaseOver returns how long it takes until no program goes by a view of before: clocks do not run at quite the same pace.
func leaseOver(s *store.Handle) time.Duration {
	if s.Facts.OneProcess {
		return holdOn + holdOn/4
	}
	return leaseTime + leaseTime/4
}

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
	} else if c.isBehind() {
		if a := c.ask(); a != nil {
			<-a.done // which asks no server
		}
	}
}

// isBehind reports whether this process, which has the store alone, has changed the indexes since.
func (c *Collection) isBehind() bool {
	last := c.Shared.last.Load()
	return c.Store.Facts.OneProcess && last != nil && last.epoch != c.Epoch()
}

// isOver reports whether what c was told does not hold any more, until it is told again.
func (c *Collection) isOver() bool {
	if !c.Store.Facts.OneProcess {
		return c.Lease.isOver(leaseTime)
	}
	last := c.Shared.last.Load()
	return last != nil && last.epoch != c.Epoch() && time.Since(last.at) >= holdOn
}

// newest returns the view that the repository of c has now.
func (c *Collection) newest() *Collection {
	for next := c.next.Load(); next != nil; next = c.next.Load() {
		c = next
	}
	return c
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
	var err error
	if c.next.Load() == nil { // else another view follows already, and one alone is to
		err = c.readAgain()
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

// readAgain takes over what the catalog says, or makes the view that follows c.
func (c *Collection) readAgain() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaseTime)
	defer cancel()
	began, k := time.Now(), store.Call{}
	e, err := ReadCatalog(ctx, c.Store, &k, c.Store.Cat, c.Name)
	if err != nil {
		return err
	}
	if err = c.against(e); err == nil {
		c.know(e)
		c.epoch.Store(&e.Epoch)
		c.Lease.Since.Store(&began)
	} else if differs, ok := errors.AsType[*Differs](err); ok {
		err = c.follow(ctx, e, differs, began)
	}
	return err
}

// follow makes the view that follows c.
func (c *Collection) follow(ctx context.Context, e *Entry, differs *Differs, began time.Time) error {
	if c.Follow == nil {
		return differs
	}
	err := c.Follow(ctx, e, differs, began)
	if errors.Is(err, driver.ErrSchema) {
		err = fmt.Errorf("another program changed the schema since this repository was opened: %w", err)
	}
	return err
}

// Inherit makes c the view that follows another one, by an entry that was read at a time.
func (c *Collection) Inherit(from *Collection, e *Entry, began time.Time) {
	c.Shared, c.Attached, c.made, c.drops = from.Shared, from.Attached, from.made, from.drops
	c.epoch.Store(&e.Epoch)
	c.Lease.Since.Store(&began)
	c.know(e)
	e.SetBare(c.Layout)
}

// MakeWay lets another view follow c, which holds on to what it was told until its lease is over.
func (c *Collection) MakeWay(next *Collection) { c.next.Store(next) }

// against returns what an entry of the catalog says against a repository that is open.
func (c *Collection) against(e *Entry) error {
	switch {
	case e == nil || e.Dropping:
		return fmt.Errorf("another program dropped the collection: %w", driver.ErrSchema)
	case e.Making || e.Made != c.made:
		return fmt.Errorf("another program dropped the collection, and it was made anew since this repository was opened; open it again: %w", driver.ErrSchema)
	}
	if _, err := e.Fits(c.Layout); err != nil {
		return fmt.Errorf("another program changed the schema since this repository was opened; open it again: %w", err)
	}
	return nil
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
		return errDropped
	}
	if err := c.newest().Lease.lost.Load(); err != nil {
		return *err
	}
	return nil
}

var errDropped = fmt.Errorf("the collection was dropped since this repository was opened; open it again: %w", driver.ErrSchema)

// Holds returns an error if what was just read, by an index or, if x is nil, by the records, may lack something
// because the schema was changed. Where the catalog cannot be read, what is read counts: a program that still
// reads the records is not to stop for it, nor to wait each time.
func (c *Collection) Holds(ctx context.Context, x *layout.Index) error {
	if err := c.Told(ctx); err != nil {
		return err
	}
	now := c.newest()
	if x == nil || now == c || slices.ContainsFunc(now.Indexes, func(o *layout.Index) bool { return o.ID == x.ID && o.Turn == x.Turn && o.Answers() }) {
		return nil
	}
	return MovedOn("index %s, by which it read, is not ready any more", x.ID)
}

// MovedOn returns the error for a call that goes by a view which is over.
func MovedOn(format string, args ...any) error {
	return failure.Contention("the indexes of the collection were changed while the call was under way, and "+format+"; nothing was done, so call again", args...)
}

// MayWrite returns an error if a write that goes by c is not to be sent. What the write depends on has been read before.
func (c *Collection) MayWrite(ctx context.Context) error {
	if err := c.Told(ctx); err != nil {
		return err
	}
	return c.ended()
}

// ended returns an error if c is gone, or its view is over.
func (c *Collection) ended() error {
	err := c.Gone()
	switch {
	case err != nil || !c.isOver():
		return err
	case c.newest() != c || c.isBehind():
		return MovedOn("it took longer than %s", leaseTime)
	}
	return fmt.Errorf("the catalog could not be read for %s, so it is not known which indexes a write must keep in step; nothing was written: %w", leaseTime, driver.ErrUnavailable)
}

// IsBefore reports whether another view of the same repository has followed c.
func (c *Collection) IsBefore(o *Collection) bool { return c != o && c.newest() == o.newest() }

// IsStale reports whether the repository is to be told again before a write.
func (c *Collection) IsStale() bool {
	return c.isBehind() || !c.Store.Facts.OneProcess && c.Lease.isOver(leaseTime)
}

// Told returns when what the repository was told holds, or cannot be asked for.
func (c *Collection) Told(ctx context.Context) error {
	for {
		c = c.newest()
		if err := c.Gone(); err != nil {
			return err
		}
		if !c.IsStale() {
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
	return outlastLeases(ctx, s, since)
}

// outlastLeases waits until every lease of before a time is over.
func outlastLeases(ctx context.Context, s *store.Handle, since time.Time) error {
	over := leaseOver(s)
	t := time.NewTimer(time.Until(since.Add(over)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("while other programs were told, which takes %s: %w: %w", over, driver.ErrTimeout, ctx.Err())
	}
}

// OutlastViews waits until no call, in any program, goes by what the catalog said before a time. Where one process has
// the store alone, commits that were sent before are over then, however long they took. The caller is not within the gate.
func (sh *Shared) OutlastViews(ctx context.Context, s *store.Handle, since time.Time) error {
	if err := outlastLeases(ctx, s, since); err != nil || !s.Facts.OneProcess {
		return err
	}
	if err := sh.Gate.Shut(ctx); err != nil {
		return err
	}
	sh.Gate.Open()
	return nil
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
