package repo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// DropIndex removes an index, its rows and its catalog entry. Repositories that are open, in
// this program and in others, refuse to read and write from then on: open them again. Where
// other programs may have the store open it takes some seconds, in which they are told.
func DropIndex(ctx context.Context, store *Store, collection, name string) error {
	if err := given(ctx, store); err != nil {
		return &Error{Op: "drop index", Collection: collection, Index: name, Err: err}
	}
	k := store.begin("drop index")
	sh := store.shared(collection)
	err := sh.gate.shut(ctx)
	if err == nil {
		defer sh.gate.open()
		err = dropIndex(ctx, store, &k, sh, collection, name)
	}
	if err != nil {
		return &Error{Op: "drop index", Collection: collection, Index: name, Err: store.redact(err)}
	}
	return nil
}

func dropIndex(ctx context.Context, store *Store, k *call, sh *shared, collection, name string) error {
	cat := store.cat
	if err := store.driver.Define(ctx, []*driver.Table{cat}); err != nil {
		return err
	}
	e, err := store.readCatalog(ctx, k, cat, collection)
	if err != nil {
		return err
	}
	at := -1
	if e != nil {
		at = slices.IndexFunc(e.Indexes, func(x catalogIndex) bool { return x.Name == name })
	}
	if at < 0 {
		return fmt.Errorf("no index %s in the catalog: %w", name, ErrNotFound)
	}
	// The entry goes after the rows: who is interrupted can do it again.
	e.Indexes[at].State, e.Epoch = indexBuilding, newEpoch()
	if err := store.changeCatalog(ctx, k, cat, e); err != nil {
		return err
	}
	sh.lose() // whatever happens now, nobody reads or writes with the index
	if err := store.outlast(ctx, time.Now()); err != nil {
		return err
	}
	if err := store.driver.Drop(ctx, []*driver.Table{e.Indexes[at].tableIn(collection)}); err != nil {
		return err
	}
	e.Indexes = append(e.Indexes[:at], e.Indexes[at+1:]...)
	if err := store.changeCatalog(ctx, k, cat, e); err != nil {
		return err
	}
	sh.epoch = e.Epoch
	return nil
}

// changeCatalog is writeCatalog for those who do not begin again.
func (s *Store) changeCatalog(ctx context.Context, k *call, t *driver.Table, e *catalogEntry) error {
	ok, err := s.writeCatalog(ctx, k, t, e)
	if err == nil && !ok {
		err = contention("another program changed the catalog; try again")
	}
	return err
}

// DropCollection removes a collection with all its records, indexes and its
// catalog entry. Dropping one that is not there succeeds. If it ends half-way, by an error
// or a crash, do it again: until then [Open] refuses records whose indexes are gone.
// Repositories that are open, in this program and in others, refuse to read and write from
// then on: open them again. Where other programs may have the store open it takes some
// seconds, in which they are told.
func DropCollection(ctx context.Context, store *Store, collection string) error {
	if err := given(ctx, store); err != nil {
		return &Error{Op: "drop", Collection: collection, Err: err}
	}
	k := store.begin("drop")
	sh := store.shared(collection)
	err := sh.gate.shut(ctx)
	if err == nil {
		defer sh.gate.open()
		err = dropCollection(ctx, store, &k, sh, collection)
	}
	if err != nil {
		return &Error{Op: "drop", Collection: collection, Err: store.redact(err)}
	}
	sh.lose() // also where there was no collection
	return nil
}

func dropCollection(ctx context.Context, store *Store, k *call, sh *shared, collection string) error {
	cat := store.cat
	if err := store.driver.Define(ctx, []*driver.Table{cat}); err != nil {
		return err
	}
	e, err := store.readCatalog(ctx, k, cat, collection)
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
	if err := store.changeCatalog(ctx, k, cat, e); err != nil {
		return err
	}
	sh.lose() // whatever happens now, no repository that is open may read or write any more
	if !told {
		if err := store.outlast(ctx, time.Now()); err != nil {
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

// lose makes all repositories of this Store that are open unusable. The caller holds the gate.
func (sh *shared) lose() {
	sh.epoch = ""
	sh.drops.Add(1)
}
