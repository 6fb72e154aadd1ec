package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
)

// SchemaOf returns the schema of a collection as the store remembers it, for programs that know
// only the name: open its records as map[string]any. Fields has all fields that any program has
// declared. A collection that is not there is ErrNotFound. SchemaOf changes nothing in the store.
func SchemaOf(ctx context.Context, store *Store, collection string) (Schema, error) {
	if err := given(ctx, store); err != nil {
		return Schema{}, &Error{Op: "schema of", Collection: collection, Err: err}
	}
	ctx, k := store.handle.Begin(ctx, "schema of", collection)
	defer k.Leave()
	s, err := catalog.SchemaOf(ctx, &store.handle, &k, collection)
	if err != nil {
		return Schema{}, k.End(&Error{Op: k.Op, Collection: collection, Err: store.Redact(err)})
	}
	return schemaFrom(s), k.End(nil)
}

// Collections returns the names of the collections in a store, in order: the collections of all
// programs, including half-made and half-dropped ones. If a part of the catalog cannot be read, it
// returns the other collections and an error. Collections changes nothing in the store.
func Collections(ctx context.Context, store *Store) ([]string, error) {
	if err := given(ctx, store); err != nil {
		return nil, &Error{Op: "collections", Err: err}
	}
	names, err := collections(ctx, store)
	if err != nil {
		return names, &Error{Op: "collections", Err: err}
	}
	return names, nil
}

func collections(ctx context.Context, store *Store) ([]string, error) {
	var names []string
	var faults error
	err := catalog.EachEntry(ctx, &store.handle, func(row *driver.Row) {
		var e struct{ Collection, Upkeep string }
		if len(row.Fields) == 0 || json.Unmarshal([]byte(row.Fields[0].Str()), &e) != nil || e.Collection+e.Upkeep == "" {
			faults = errors.Join(faults, fmt.Errorf("a catalog entry cannot be read: %w", ErrCorrupt))
		} else if e.Upkeep == "" {
			names = append(names, e.Collection)
		}
	})
	if _, some := errors.AsType[driver.Unread](err); err != nil && !some {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(err, faults)
}
