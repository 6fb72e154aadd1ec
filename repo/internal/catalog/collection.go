package catalog

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
	"github.com/polystore/polystore/repo/internal/turn"
)

// A Collection is a collection as the catalog had it when it was read, for one repository: a view, which another one
// follows when the indexes are others.
type Collection struct {
	*layout.Layout
	Store    *store.Handle
	Shared   *Shared
	epoch    atomic.Pointer[string] // of the catalog entry
	made     string                 // in the entry: which of the collections that had this name
	drops    int64                  // of shared, at Open
	Lease    lease
	Attached bool // the catalog is not to be changed
	owing    atomic.Pointer[owing]
	Strays   atomic.Pointer[[]string] // undeclared fields that are not to be added

	// Follow makes the next view, by an entry that was read at a time and that this one does not fit.
	Follow func(context.Context, *Entry, *Differs, time.Time) error
	next   atomic.Pointer[Collection]
}

// Shared is what repositories on one collection have in common. A writer is within
// the gate while it commits, so that what it goes by is changed alone.
type Shared struct {
	Gate   gate
	Queues turn.Queues
	last   atomic.Pointer[changed]
	tables []*driver.Table // of the repository that was opened last
	Drops  atomic.Int64    // how often the collection or an index of it was dropped here

	expires atomic.Bool // the catalog says that records may expire, or will soon
	Settled atomic.Bool // and all programs know it, so that they may be written

	Building atomic.Bool                           // this process fills indexes of it
	Wanted   atomic.Pointer[func(context.Context)] // how, for whoever asked last
	Builder  string                                // who that is in the catalog
	Stuck    atomic.Pointer[error]                 // what kept it from that last

	presence atomic.Pointer[plan.Presence]
	told     map[string]time.Time // since when the catalog says what all programs are to know: for whoever is within the gate
}

// A Registry has what repositories on the same collections share.
type Registry struct {
	mu   sync.Mutex
	open map[string]*Shared // by collection
}

// Of returns what the repositories on a collection share.
func (r *Registry) Of(collection string) *Shared {
	r.mu.Lock()
	defer r.mu.Unlock()
	sh := r.open[collection]
	if sh == nil {
		if r.open == nil {
			r.open = map[string]*Shared{}
		}
		sh = &Shared{Builder: driver.NewToken().String(), told: map[string]time.Time{}}
		r.open[collection] = sh
	}
	return sh
}

// A changed is when the indexes of a collection were last changed by this process, which has the store alone, and the
// epoch since.
type changed struct {
	epoch string
	at    time.Time
}

// Changed says that the indexes of the collection are those of an entry. Views of before hold on for some time, unless
// they must not.
func (sh *Shared) Changed(e *Entry, holdsOn bool) {
	now := &changed{epoch: e.Epoch}
	if holdsOn {
		now.at = time.Now()
	}
	sh.last.Store(now)
}

// Adopt makes e the entry that c goes by.
func (c *Collection) Adopt(e *Entry) {
	c.epoch.Store(&e.Epoch)
	if last := c.Shared.last.Load(); last == nil || last.epoch != e.Epoch {
		c.Shared.Changed(e, false)
	}
	c.made, c.drops = e.Made, c.Shared.Drops.Load()
	c.Shared.expires.Store(e.Expires || e.Expiring)
	c.Shared.Settled.Store(e.Expires)
	c.Shared.learn(e.Presence())
	c.noStrays(e)
}

// Epoch returns the epoch of the entry that c goes by.
func (c *Collection) Epoch() string { return *c.epoch.Load() }

// Lose makes all repositories of this Store that are open unusable. The caller holds the gate.
func (sh *Shared) Lose() {
	sh.Drops.Add(1)
}

// Enter lets a call write that goes by the schema in the store. One that is within, and
// deletes an expired record on its way, must not wait for those who wait for it.
func (c *Collection) Enter(ctx context.Context, k *store.Call) error {
	if k.Within {
		return nil
	}
	for {
		if err := c.MayWrite(ctx); err != nil {
			return err
		}
		if err := c.Shared.Gate.enter(ctx); err != nil {
			return err
		}
		err := c.ended()
		if err == nil {
			return nil
		}
		c.Shared.Gate.leave()
		if !errors.Is(err, driver.ErrUnavailable) {
			return err
		}
		// The lease ended at the gate. Whether the catalog can be read is seen now.
	}
}

// Leave ends what Enter began.
func (c *Collection) Leave(k *store.Call) {
	if !k.Within {
		c.Shared.Gate.leave()
	}
}

// Share takes the tables of the repository that was opened before, if they are the
// same, so that a backend has nothing to remember for each Open.
func (c *Collection) Share() {
	own, before := c.Tables(nil), c.Shared.tables
	if !slices.EqualFunc(own, before, func(a, b *driver.Table) bool { return reflect.DeepEqual(a, b) }) {
		c.Shared.tables = own
		return
	}
	c.UseTables(before)
}

// MayExpire reports whether there may be records that expire, as far as is known.
func (c *Collection) MayExpire() bool {
	if c.Shared == nil { // no store is looked at
		return c.Expires
	}
	return c.Shared.expires.Load()
}
