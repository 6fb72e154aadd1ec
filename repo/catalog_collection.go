package repo

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A catalogC is a collection as the catalog has it, for one repository: what was found at Open, and
// what the catalog said since.
type catalogC struct {
	*layoutC
	store    *handle
	shared   *shared
	epoch    string // of the catalog entry that was found at Open
	made     string // in the entry: which of the collections that had this name
	drops    int64  // of shared, at Open
	lease    lease
	attached bool // the catalog is not to be changed
	owing    atomic.Pointer[owing]
	strays   atomic.Pointer[[]string] // undeclared fields that are not to be added
}

// shared is what repositories on one collection have in common. A writer is within
// the gate while it commits, so that an index can be built alone.
type shared struct {
	gate   gate
	queues queues
	epoch  string          // of the catalog entry; "" when there is none
	tables []*driver.Table // of the repository that was opened last
	drops  atomic.Int64    // how often the collection or an index of it was dropped here

	expires atomic.Bool // the catalog says that records may expire, or will soon
	settled atomic.Bool // and all programs know it, so that they may be written

	presence atomic.Pointer[presence]
	told     map[string]time.Time // since when the catalog says what all programs are to know: for whoever is within the gate
}

// A registry has what repositories on the same collections share.
type registry struct {
	mu   sync.Mutex
	open map[string]*shared // by collection
}

// of returns what the repositories on a collection share.
func (r *registry) of(collection string) *shared {
	r.mu.Lock()
	defer r.mu.Unlock()
	sh := r.open[collection]
	if sh == nil {
		if r.open == nil {
			r.open = map[string]*shared{}
		}
		sh = &shared{told: map[string]time.Time{}}
		r.open[collection] = sh
	}
	return sh
}

// adopt makes e the entry that writers of this process go by.
func (c *catalogC) adopt(e *catalogEntry) {
	c.epoch, c.shared.epoch = e.Epoch, e.Epoch
	c.made, c.drops = e.Made, c.shared.drops.Load()
	c.shared.expires.Store(e.Expires || e.Expiring)
	c.shared.settled.Store(e.Expires)
	c.shared.learn(e.presence())
	c.noStrays(e)
}

// lose makes all repositories of this Store that are open unusable. The caller holds the gate.
func (sh *shared) lose() {
	sh.epoch = ""
	sh.drops.Add(1)
}

// enter lets a call write that goes by the schema in the store. One that is within, and
// deletes an expired record on its way, must not wait for those who wait for it.
func (c *catalogC) enter(ctx context.Context, k *call) error {
	if k.within {
		return nil
	}
	if err := c.holds(ctx); err != nil {
		return err
	}
	if err := c.shared.gate.enter(ctx); err != nil {
		return err
	}
	if c.shared.epoch != c.epoch {
		c.shared.gate.leave()
		return errSchemaChanged
	}
	return nil
}

func (c *catalogC) leave(k *call) {
	if !k.within {
		c.shared.gate.leave()
	}
}

// share takes the tables of the repository that was opened before, if they are the
// same, so that a backend has nothing to remember for each Open.
func (c *catalogC) share() {
	own, before := c.tables(nil), c.shared.tables
	if !slices.EqualFunc(own, before, func(a, b *driver.Table) bool { return reflect.DeepEqual(a, b) }) {
		c.shared.tables = own
		return
	}
	c.useTables(before)
}

// mayExpire reports whether there may be records that expire, as far as is known.
func (c *catalogC) mayExpire() bool {
	if c.shared == nil { // no store is looked at
		return c.expires
	}
	return c.shared.expires.Load()
}
