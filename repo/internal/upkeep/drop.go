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
	"github.com/polystore/polystore/repo/internal/store"
)

// DropIndex removes an index from the catalog, and then its table.
func DropIndex(ctx context.Context, store *store.Handle, k *store.Call, sh *catalog.Shared, collection, name string) error {
	cat := store.Cat
	if err := store.Driver.Define(ctx, []*driver.Table{cat}); err != nil {
		return err
	}
	e, err := catalog.ReadCatalog(ctx, store, k, cat, collection)
	if err != nil {
		return err
	}
	at := -1
	if e != nil {
		at = slices.IndexFunc(e.Indexes, func(x catalog.IndexEntry) bool { return x.Name == name })
	}
	if at < 0 {
		return fmt.Errorf("no index %s in the catalog: %w", name, driver.ErrNotFound)
	}
	// The entry goes after the rows: who is interrupted can do it again.
	e.Indexes[at].State, e.Epoch = catalog.IndexBuilding, catalog.NewEpoch()
	if err := changeCatalog(ctx, store, k, cat, e); err != nil {
		return err
	}
	sh.Lose() // whatever happens now, nobody reads or writes with the index
	if err := catalog.OutlastLease(ctx, store, time.Now()); err != nil {
		return err
	}
	if err := store.Driver.Drop(ctx, []*driver.Table{e.Indexes[at].TableIn(collection)}); err != nil {
		return err
	}
	e.Indexes = append(e.Indexes[:at], e.Indexes[at+1:]...)
	if err := changeCatalog(ctx, store, k, cat, e); err != nil {
		return err
	}
	sh.Epoch = e.Epoch
	return nil
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
