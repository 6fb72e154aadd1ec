package repo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

func dropIndex(ctx context.Context, store *handle, k *call, sh *shared, collection, name string) error {
	cat := store.cat
	if err := store.driver.Define(ctx, []*driver.Table{cat}); err != nil {
		return err
	}
	e, err := readCatalog(ctx, store, k, cat, collection)
	if err != nil {
		return err
	}
	at := -1
	if e != nil {
		at = slices.IndexFunc(e.Indexes, func(x catalogIndex) bool { return x.Name == name })
	}
	if at < 0 {
		return fmt.Errorf("no index %s in the catalog: %w", name, driver.ErrNotFound)
	}
	// The entry goes after the rows: who is interrupted can do it again.
	e.Indexes[at].State, e.Epoch = indexBuilding, newEpoch()
	if err := changeCatalog(ctx, store, k, cat, e); err != nil {
		return err
	}
	sh.lose() // whatever happens now, nobody reads or writes with the index
	if err := outlastLease(ctx, store, time.Now()); err != nil {
		return err
	}
	if err := store.driver.Drop(ctx, []*driver.Table{e.Indexes[at].tableIn(collection)}); err != nil {
		return err
	}
	e.Indexes = append(e.Indexes[:at], e.Indexes[at+1:]...)
	if err := changeCatalog(ctx, store, k, cat, e); err != nil {
		return err
	}
	sh.epoch = e.Epoch
	return nil
}

// changeCatalog is writeCatalog for those who do not begin again.
func changeCatalog(ctx context.Context, s *handle, k *call, t *driver.Table, e *catalogEntry) error {
	ok, err := writeCatalog(ctx, s, k, t, e)
	if err == nil && !ok {
		err = contention("another program changed the catalog; try again")
	}
	return err
}

func dropCollection(ctx context.Context, store *handle, k *call, sh *shared, collection string) error {
	cat := store.cat
	if err := store.driver.Define(ctx, []*driver.Table{cat}); err != nil {
		return err
	}
	e, err := readCatalog(ctx, store, k, cat, collection)
	if err != nil || e == nil {
		return err
	}
	// Who ends half-way leaves no index that seems to have all records, and can do it again.
	var tables []*driver.Table
	for i := range e.Indexes {
		e.Indexes[i].State = indexBuilding
		tables = append(tables, e.Indexes[i].tableIn(collection))
	}
	told := e.Making // nobody can have opened it
	e.Epoch, e.Dropping = newEpoch(), true
	if err := changeCatalog(ctx, store, k, cat, e); err != nil {
		return err
	}
	sh.lose() // whatever happens now, no repository that is open may read or write any more
	if !told {
		if err := outlastLease(ctx, store, time.Now()); err != nil {
			return err
		}
	}
	tables = append(tables, &driver.Table{Name: collection, Class: driver.Records})
	if err := store.driver.Drop(ctx, tables); err != nil {
		return err
	}
	key, err := catalogKey(collection)
	if err != nil {
		return err
	}
	_, err = store.commit(ctx, k, driver.NewToken(), []driver.Op{{Do: driver.Delete, Table: cat, Row: driver.Row{Key: key}}})
	return err
}
