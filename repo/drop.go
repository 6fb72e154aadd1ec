package repo

import (
	"context"

	"github.com/polystore/polystore/repo/internal/upkeep"
)

// DropIndex removes an index, its rows and its catalog entry. Repositories that are open, in
// this program and in others, refuse to read and write from then on: open them again. Where
// other programs may have the store open it takes some seconds, in which they are told.
func DropIndex(ctx context.Context, store *Store, collection, name string) error {
	if err := given(ctx, store); err != nil {
		return &Error{Op: "drop index", Collection: collection, Index: name, Err: err}
	}
	ctx, k := store.handle.Begin(ctx, "drop index", collection)
	defer k.Leave()
	sh := store.collections.Of(collection)
	err := sh.Gate.Shut(ctx)
	if err == nil {
		defer sh.Gate.Open()
		err = upkeep.DropIndex(ctx, &store.handle, &k, sh, collection, name)
	}
	if err != nil {
		return k.End(&Error{Op: k.Op, Collection: collection, Index: name, Err: store.redact(err)})
	}
	return k.End(nil)
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
	ctx, k := store.handle.Begin(ctx, "drop", collection)
	defer k.Leave()
	sh := store.collections.Of(collection)
	err := sh.Gate.Shut(ctx)
	if err == nil {
		defer sh.Gate.Open()
		err = upkeep.DropCollection(ctx, &store.handle, &k, sh, collection)
	}
	if err != nil {
		return k.End(&Error{Op: k.Op, Collection: collection, Err: store.redact(err)})
	}
	sh.Lose() // also where there was no collection
	return k.End(nil)
}
