package upkeep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/store"
)

// DropIndex removes an index: queries leave it first, then writers, and then its table goes. It goes on where one that
// was stopped had come to.
func DropIndex(ctx context.Context, store *store.Handle, k *store.Call, sh *catalog.Shared, collection, name string) error {
	if err := store.Driver.Define(ctx, []*driver.Table{store.Cat}); err != nil {
		return err
	}
	return (&indexChange{store: store, call: k, shared: sh, collection: collection, name: name}).drop(ctx, nil)
}

// An indexChange changes one index in the catalog, step by step.
type indexChange struct {
	store      *store.Handle
	call       *store.Call
	shared     *catalog.Shared
	collection string
	name       string
	turn       int // of the index that a filler has, which takes back no other one of the name
}

// drop is DropIndex; why, of a filler that takes its index back, is left in the catalog, unless it is nil.
func (c *indexChange) drop(ctx context.Context, why error) error {
	other := func(x *catalog.IndexEntry) bool { return why != nil && x.Turn != c.turn }
	x, err := c.step(ctx, func(_ *catalog.Entry, x *catalog.IndexEntry) {
		if other(x) {
			return
		}
		switch x.State {
		case catalog.IndexReady, catalog.IndexWritten, catalog.IndexBuilding:
			x.To(catalog.IndexLeaving)
		case catalog.IndexDeclared:
			x.To(catalog.IndexGone)
		}
	})
	if err == nil && other(&x) {
		return nil // another program was faster, and the index has come again
	}
	if err == nil && x.State == catalog.IndexLeaving {
		if err = c.shared.OutlastViews(ctx, c.store, time.Now()); err == nil {
			x, err = c.step(ctx, func(_ *catalog.Entry, o *catalog.IndexEntry) {
				if o.Turn == x.Turn && o.State == catalog.IndexLeaving {
					o.To(catalog.IndexGone)
				}
			})
		}
	}
	if err == nil && x.State == catalog.IndexGone {
		err = c.shared.OutlastViews(ctx, c.store, time.Now())
	}
	if err != nil || x.State != catalog.IndexGone {
		return err // another program removed it, and it was added again
	}
	if err := c.store.Driver.Drop(ctx, []*driver.Table{x.TableIn(c.collection)}); err != nil {
		return err
	}
	_, err = c.step(ctx, func(e *catalog.Entry, o *catalog.IndexEntry) {
		if o.Turn == x.Turn && o.State == catalog.IndexGone {
			e.Forget(c.name, why, c.store.Opts.Redact)
		}
	})
	return err
}

// step changes the entry of the collection where it is about the index, and returns what that was changed to.
func (c *indexChange) step(ctx context.Context, change func(*catalog.Entry, *catalog.IndexEntry)) (x catalog.IndexEntry, err error) {
	if err := c.shared.Gate.Shut(ctx); err != nil {
		return x, err
	}
	defer c.shared.Gate.Open()
	for range limit.MaxAttempts {
		e, err := catalog.ReadCatalog(ctx, c.store, c.call, c.store.Cat, c.collection)
		if err != nil {
			return x, err
		}
		at := -1
		if e != nil {
			at = slices.IndexFunc(e.Indexes, func(x catalog.IndexEntry) bool { return x.Name == c.name })
		}
		if at < 0 {
			return x, fmt.Errorf("no index %s in the catalog: %w", c.name, driver.ErrNotFound)
		}
		x = e.Indexes[at]
		change(e, &x)
		if at < len(e.Indexes) && e.Indexes[at].Name == c.name {
			e.Indexes[at] = x
		}
		e.Epoch = catalog.NewEpoch()
		ok, err := catalog.WriteCatalog(ctx, c.store, c.call, c.store.Cat, e)
		if ok {
			c.shared.Changed(e, true)
		}
		if ok || err != nil {
			return x, err
		}
	}
	return x, failure.Contention("other programs keep changing the catalog")
}

// changeCatalog is writeCatalog for those who do not begin again.
func changeCatalog(ctx context.Context, s *store.Handle, k *store.Call, t *driver.Table, e *catalog.Entry) error {
	ok, err := catalog.WriteCatalog(ctx, s, k, t, e)
	if err == nil && !ok {
		err = failure.Contention("another program changed the catalog; try again")
	}
	return err
}

// alone says which collections lie with one that is to be dropped.
func alone(ctx context.Context, store *store.Handle, collection string) error {
	names, err := catalog.JoinedBy(ctx, store, collection)
	if err == nil && len(names) > 0 {
		err = failure.Invalid("%s lies with the collection; drop that first", strings.Join(names, ", "))
	}
	return err
}

// DropCollection removes a collection from the catalog, and then its tables.
func DropCollection(ctx context.Context, store *store.Handle, k *store.Call, sh *catalog.Shared, collection string) error {
	cat := store.Cat
	if err := store.Driver.Define(ctx, []*driver.Table{cat}); err != nil {
		return err
	}
	e, err := catalog.ReadCatalog(ctx, store, k, cat, collection)
	if err != nil || e == nil {
		return err
	}
	if err := alone(ctx, store, collection); err != nil {
		return err
	}
	// Who ends half-way leaves no index that seems to have all records, and can do it again.
	var tables []*driver.Table
	indexes := slices.Clone(e.Indexes)
	for i := range e.Indexes {
		e.Indexes[i].State = catalog.IndexBuilding
		tables = append(tables, e.Indexes[i].TableIn(collection))
	}
	told := e.Making // nobody can have opened it
	e.Epoch, e.Dropping = catalog.NewEpoch(), true
	if err := changeCatalog(ctx, store, k, cat, e); err != nil {
		return err
	}
	if err := alone(ctx, store, collection); err != nil { // one that has come since has not seen the drop
		e.Indexes, e.Dropping = indexes, false
		return cmp.Or(changeCatalog(ctx, store, k, cat, e), err)
	}
	sh.Lose() // whatever happens now, no repository that is open may read or write any more
	if !told {
		if err := catalog.OutlastLease(ctx, store, time.Now()); err != nil {
			return err
		}
	}
	tables = append(tables, &driver.Table{Name: collection, Class: driver.Records})
	if err := store.Driver.Drop(ctx, tables); err != nil {
		return err
	}
	key, err := catalog.Key(collection)
	if err != nil {
		return err
	}
	_, err = store.Commit(ctx, k, driver.NewToken(), []driver.Op{{Do: driver.Delete, Table: cat, Row: driver.Row{Key: key}}})
	return err
}
