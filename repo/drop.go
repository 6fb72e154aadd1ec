package repo

import (
	"context"

	"github.com/polystore/polystore/repo/internal/upkeep"
)

// DropIndex removes an index, its rows and its catalog entry, while programs read and write: they go on without it,
// and a query that only this index answered is ErrNoIndex. It takes some seconds to tell them. If DropIndex ends
// half-way, by an error or a crash, call it again. A program that declares the index cannot be started any more
// where the collection has records, unless it is to build it again.
func DropIndex(ctx context.Context, store *Store, collection, name string) error {
	if err := given(ctx, store); err != nil {
		return &Error{Op: "drop index", Collection: collection, Index: name, Err: err}
	}
	ctx, k := store.handle.Begin(ctx, "drop index", collection)
	defer k.Leave()
	err := upkeep.DropIndex(ctx, &store.handle, &k, store.collections.Of(collection), collection, name)
	if err != nil {
		return k.End(&Error{Op: k.Op, Collection: collection, Index: name, Err: store.Redact(err)})
	}
	return k.End(nil)
}

// DropCollection removes a collection with all its records, its indexes and its catalog entry.
// Dropping a collection that is not there succeeds. If DropCollection ends half-way, by an error or
// a crash, call it again: until then [Open] refuses records whose indexes are gone. From the drop
// on open repositories, in this program and in others, refuse to read and write: open them again.
// Where other programs may have the store open, DropCollection takes some seconds to tell them.
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
		return k.End(&Error{Op: k.Op, Collection: collection, Err: store.Redact(err)})
	}
	sh.Lose() // also where there was no collection
	return k.End(nil)
}
