package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/layout"
)

// addAbsent adds to the catalog the indexes that the schema declares and the catalog has not. They are ready at once
// where nobody can have written a record; else they are to be filled, and a store that is to keep them must make them.
func (o *opening) addAbsent(ctx context.Context, e *catalog.Entry) error {
	state, err := o.mayAdd(ctx)
	if err != nil {
		return err
	}
	tables := []*driver.Table{o.Records}
	for _, x := range o.Absent {
		if err := e.Going(x.ID); err != nil {
			return err
		}
		entry := catalog.NewIndexEntry(x, state)
		entry.Turn = e.Turns[x.ID]
		delete(e.Refused, x.ID)
		if x.Native {
			entry.To(catalog.IndexBuilding)
		} else {
			t := *x.Table
			t.Name = entry.TableIn(o.Name).Name
			tables = append(tables, &t)
		}
		e.SetIndex(entry)
	}
	if err := o.Store.Driver.Define(ctx, tables); err != nil { // before others look for them
		return err
	}
	e.Grow(o.Layout)
	return o.changeTo(ctx, e, state != catalog.IndexReady)
}

// changeTo writes an entry with other indexes. Who was faster is seen when it is read again. The caller holds the gate.
func (o *opening) changeTo(ctx context.Context, e *catalog.Entry, holdsOn bool) error {
	e.Epoch = catalog.NewEpoch()
	ok, err := catalog.WriteCatalog(ctx, o.Store, o.call, o.Store.Cat, e)
	if ok {
		o.Shared.Changed(e, holdsOn)
	}
	return err
}

// mayAdd returns the state in which indexes may be added.
func (o *opening) mayAdd(ctx context.Context) (string, error) {
	var names []string
	alone := o.Store.Facts.OneProcess
	for _, x := range o.Absent {
		names = append(names, x.ID)
	}
	if o.Attach {
		return "", fmt.Errorf("index %s is not in the store, and WithoutDefine forbids to build it: %w", strings.Join(names, ", "), driver.ErrSchema)
	}
	some, err := o.hasRecords(ctx)
	switch {
	case err != nil:
		return "", err
	case !some && alone:
		return catalog.IndexReady, nil
	case o.Build || !some && keptByStore(o.Absent):
		return catalog.IndexDeclared, nil
	case some:
		return "", fmt.Errorf("index %s is new, and the collection has records; open with repo.WithBuild() to build it: %w", strings.Join(names, ", "), driver.ErrSchema)
	}
	return "", fmt.Errorf("index %s is new, and other programs may write to the collection; open with repo.WithBuild() to build it: %w", strings.Join(names, ", "), driver.ErrSchema)
}

// keptByStore reports whether the store keeps all of some indexes.
func keptByStore(list []*layout.Index) bool {
	for _, x := range list {
		if !x.Native {
			return false
		}
	}
	return true
}

// hasRecords reports whether the collection has any row, of a dead record, too.
func (o *opening) hasRecords(ctx context.Context) (bool, error) {
	if err := o.Store.Driver.Define(ctx, []*driver.Table{o.Records}); err != nil {
		return false, err
	}
	for chunk, err := range o.Store.Driver.Walk(ctx, o.Records, "") {
		if err != nil || len(chunk.Rows) > 0 {
			return true, err
		}
	}
	return false, nil
}

// noteNative says in the catalog that the indexes are ready which the store has made, or else which it is to make.
func (o *opening) noteNative(ctx context.Context, e *catalog.Entry, build []*layout.Index) error {
	if slices.ContainsFunc(build, func(x *layout.Index) bool { return !slices.Contains(o.made, x) }) {
		o.lacks = build
		return o.mayMake(ctx)
	}
	for _, x := range build {
		e.SetIndex(catalog.NewIndexEntry(x, catalog.IndexReady))
	}
	return o.changeTo(ctx, e, true)
}

// mayMake says what forbids to let the store make the indexes.
func (o *opening) mayMake(ctx context.Context) error {
	if o.Attach {
		return fmt.Errorf("index %s is not ready in the store, and WithoutDefine forbids to build it: %w", o.lacks[0].ID, driver.ErrSchema)
	}
	if o.Build {
		return nil
	}
	some, err := o.hasRecords(ctx)
	if err == nil && some {
		err = fmt.Errorf("index %s is not ready in the store: another program lets the store make it, or the store could not; open with repo.WithBuild() to do it: %w", o.lacks[0].ID, driver.ErrSchema)
	}
	return err
}

// makeNative lets the store make the indexes that it is to keep, whoever writes; several programs may ask it to at once.
func (o *opening) makeNative(ctx context.Context) error {
	if err := catalog.OutlastLease(ctx, o.Store, time.Now()); err != nil { // see stray.go
		return err
	}
	for _, x := range o.lacks {
		if err := o.Store.Driver.Define(ctx, []*driver.Table{x.Table}); err != nil {
			if errors.Is(err, driver.ErrExists) && o.MayExpire() {
				err = fmt.Errorf("%w; a record that has expired counts until Maintain has removed it", err)
			}
			return fmt.Errorf("build index %s: %w", x.ID, err)
		}
	}
	o.made, o.lacks = o.lacks, nil
	return nil
}
