package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

func repoConditionRules() []rule {
	return []rule{
		{name: "insert", sentence: "Insert of a record that is there is ErrExists and changes nothing; one that has a version is ErrInvalid.", check: insertTaken},
		{name: "insert at once", sentence: "Of inserts at once of one key, one succeeds and the others are ErrExists.", check: insertAtOnce},
		{name: "replace", sentence: "Replace of a record that is not there is ErrNotFound, and makes none.", check: replaceNothing},
		{name: "replace stale", sentence: "Replace with an old version, in its field or by IfVersion, is ErrConflict.", check: replaceStale},
		{name: "put", sentence: "Put writes whether or not the record is there; with a version it is Replace: ErrNotFound or ErrConflict.", check: putVersions},
		{name: "delete record", sentence: "Delete removes the record; one that is not there is no error.", check: deleteRecord},
		{name: "delete with version", sentence: "Delete with another version than the record's, or of no record, is ErrConflict.", check: deleteVersions},
		{name: "delete if exists", sentence: "Delete with IfExists removes a record; one that is not there is ErrNotFound, alone and in a group, also with a version.", check: deleteIfExists},
		{name: "delete if exists at once", sentence: "Of deletes at once of one record with IfExists, one succeeds and the others are ErrNotFound.", check: deleteOnce},
		{name: "patch if", sentence: "PatchIf with another version is ErrConflict and changes nothing.", check: patchIf},
		{name: "no version", sentence: "The zero version is no condition.", check: zeroVersion},
		{name: "update", sentence: "Update writes what fn made of the record, and returns it.", check: updateRecord},
		{name: "update again", sentence: "Update begins again when another writer was faster.", check: updateAgain},
		{name: "update at once", sentence: "Of updates at once none is lost.", check: updateAtOnce},
		{name: "update with version", sentence: "Update with IfVersion of another version is ErrConflict; of a record that is not there, ErrNotFound.", check: updateVersion},
		{name: "retryable", sentence: "An error has operation, collection and key; that of a context which ended before anything was written is retryable, a conflict is not.", check: retryable},
	}
}

func insertTaken(ctx context.Context, e *env) {
	want := e.insertItem(ctx, fullItem(e, "a"))
	other := e.item("a")
	e.is("insert of a taken key", e.items(ctx).Insert(ctx, &other), repo.ErrExists)
	equal(e, "the record", e.getItem(ctx, "a"), want)
	free := e.item("b")
	free.Version = want.Version
	e.is("insert of a record with a version", e.items(ctx).Insert(ctx, &free), repo.ErrInvalid)
	missingItem(ctx, e, "b")
	free.Version = repo.Version{}
	e.ok("insert of the same without a version", e.items(ctx).Insert(ctx, &free))
	e.that(!free.Version.IsZero() && free.Version != want.Version, "a version of its own", "none, or that of another record")
}

func insertAtOnce(ctx context.Context, e *env) {
	for round := range 10 {
		id := fmt.Sprint(round)
		won := make([]bool, 8)
		e.parallel(len(won), func(i int) error {
			it := e.item(id)
			it.Count = int64(i)
			err := e.items(ctx).Insert(ctx, &it)
			won[i] = err == nil
			if err != nil && !errors.Is(err, repo.ErrExists) {
				return err
			}
			return nil
		})
		winners := 0
		for i := range won {
			if won[i] {
				winners++
				equal(e, "the record of the winner", e.getItem(ctx, id).Count, int64(i))
			}
		}
		equal(e, "the number of inserts that succeeded", winners, 1)
	}
}

// missingItem sees that there is no record.
func missingItem(ctx context.Context, e *env, id string) {
	ok, err := e.items(ctx).Exists(ctx, e.itemKey(id))
	e.ok("exists", err)
	e.that(!ok, "no record "+id, "one")
}

func replaceNothing(ctx context.Context, e *env) {
	it := e.item("a")
	e.is("replace of nothing", e.items(ctx).Replace(ctx, &it), repo.ErrNotFound)
	missingItem(ctx, e, "a")
	it = e.insertItem(ctx, it)
	e.ok("delete", e.items(ctx).Delete(ctx, e.itemKey("a")))
	e.is("replace of a deleted record", e.items(ctx).Replace(ctx, &it), repo.ErrNotFound)
	it.Version = repo.Version{}
	e.is("replace of a deleted record without a version", e.items(ctx).Replace(ctx, &it), repo.ErrNotFound)
	missingItem(ctx, e, "a")
}

func replaceStale(ctx context.Context, e *env) {
	stale := e.insertItem(ctx, e.item("a"))
	now := stale
	now.Text = "second"
	e.ok("replace", e.items(ctx).Replace(ctx, &now))
	stale.Text = "stale"
	e.is("replace with an old version field", e.items(ctx).Replace(ctx, &stale), repo.ErrConflict)
	other := now
	e.is("replace with an old IfVersion", e.items(ctx).Replace(ctx, &other, repo.IfVersion(stale.Version)), repo.ErrConflict)
	equal(e, "the record", e.getItem(ctx, "a"), now)
	e.ok("delete", e.items(ctx).Delete(ctx, e.itemKey("a")))
	again := e.insertItem(ctx, e.item("a"))
	e.is("replace with the version of a record that was deleted", e.items(ctx).Replace(ctx, &now), repo.ErrConflict)
	e.ok("replace with IfVersion", e.items(ctx).Replace(ctx, &again, repo.IfVersion(again.Version)))
}

func putVersions(ctx context.Context, e *env) {
	items := e.items(ctx)
	it := e.item("a")
	e.ok("put of a new record", items.Put(ctx, &it))
	first := it.Version
	it.Text = "second"
	e.ok("put with the version that is there", items.Put(ctx, &it))
	stale := it
	stale.Version, stale.Text = first, "stale"
	e.is("put with an old version", items.Put(ctx, &stale), repo.ErrConflict)
	equal(e, "the record", e.getItem(ctx, "a"), it)
	stale.Version = repo.Version{}
	e.ok("put without a version", items.Put(ctx, &stale))
	equal(e, "the record", e.getItem(ctx, "a").Text, "stale")
	e.ok("delete", items.Delete(ctx, e.itemKey("a")))
	e.is("put with a version of a record that is not there", items.Put(ctx, &stale), repo.ErrNotFound)
	missingItem(ctx, e, "a")
}

func deleteRecord(ctx context.Context, e *env) {
	items := e.items(ctx)
	e.insertItem(ctx, e.item("a"))
	e.insertItem(ctx, e.item("b"))
	for range 2 {
		e.ok("delete", items.Delete(ctx, e.itemKey("a")))
		missingItem(ctx, e, "a")
	}
	equal(e, "the record beside it", e.getItem(ctx, "b").Text, "text of b")
	again := e.insertItem(ctx, e.item("a"))
	equal(e, "the record inserted again", e.getItem(ctx, "a"), again)
}

func deleteVersions(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	old := e.insertItem(ctx, e.item("a"))
	now := old
	e.ok("replace", items.Replace(ctx, &now))
	e.is("delete with an old version", items.Delete(ctx, key, repo.IfVersion(old.Version)), repo.ErrConflict)
	equal(e, "the record", e.getItem(ctx, "a"), now)
	e.ok("delete with its version", items.Delete(ctx, key, repo.IfVersion(now.Version)))
	e.is("delete of nothing with a version", items.Delete(ctx, key, repo.IfVersion(now.Version)), repo.ErrConflict)
	missingItem(ctx, e, "a")
}

func deleteIfExists(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	e.is("delete of nothing", items.Delete(ctx, key, repo.IfExists()), repo.ErrNotFound)
	it := e.insertItem(ctx, e.item("a"))
	e.is("delete with an old version", items.Delete(ctx, key, repo.IfExists(), repo.IfVersion(repo.Version{1})), repo.ErrConflict)
	e.ok("delete", items.Delete(ctx, key, repo.IfExists()))
	missingItem(ctx, e, "a")
	e.is("delete again", items.Delete(ctx, key, repo.IfExists()), repo.ErrNotFound)
	e.is("delete again with a version", items.Delete(ctx, key, repo.IfVersion(it.Version), repo.IfExists()), repo.ErrNotFound)
	if e.facts.Unit < driver.UnitPartition {
		return
	}
	b := e.insertItem(ctx, e.item("b"))
	for _, id := range []string{"a", "b"} {
		g := items.Store().Group()
		in := items.In(g)
		in.Delete(e.itemKey(id), repo.IfExists())
		c := e.item("c" + id)
		in.Insert(&c)
		if err := g.Commit(ctx); id == "a" {
			e.is("group that deletes nothing", err, repo.ErrNotFound)
			equal(e, "the record beside it", e.getItem(ctx, "b"), b)
			missingItem(ctx, e, "ca")
		} else {
			e.ok("group that deletes a record", err)
			missingItem(ctx, e, "b")
		}
	}
}

func deleteOnce(ctx context.Context, e *env) {
	items := e.items(ctx)
	for round := range 10 {
		it := e.insertItem(ctx, e.item(fmt.Sprint(round)))
		var done atomic.Int64
		e.parallel(8, func(int) error {
			err := items.Delete(ctx, e.itemKey(it.ID), repo.IfExists())
			if err == nil {
				done.Add(1)
			}
			if errors.Is(err, repo.ErrNotFound) {
				return nil
			}
			return err
		})
		equal(e, "the deletes that succeeded", done.Load(), 1)
	}
}

func patchIf(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	it := e.insertItem(ctx, e.item("a"))
	v, err := items.PatchIf(ctx, key, it.Version, repo.Add("count", 1))
	e.ok("patch with the version", err)
	_, err = items.PatchIf(ctx, key, it.Version, repo.Add("count", 1))
	e.is("patch with an old version", err, repo.ErrConflict)
	it.Count, it.Version = 1, v
	equal(e, "the record", e.getItem(ctx, "a"), it)
}

func zeroVersion(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	it := e.insertItem(ctx, e.item("a"))
	none := repo.IfVersion(repo.Version{})
	it.Version = repo.Version{}
	e.ok("replace", items.Replace(ctx, &it, none))
	it.Version = repo.Version{}
	e.ok("put", items.Put(ctx, &it, none))
	_, err := items.PatchIf(ctx, key, repo.Version{}, repo.Add("count", 1))
	e.ok("patch", err)
	_, err = items.Update(ctx, key, func(it *item) error { it.Count++; return nil }, none)
	e.ok("update", err)
	equal(e, "the count", e.getItem(ctx, "a").Count, int64(2))
	e.ok("delete", items.Delete(ctx, key, none))
	e.ok("delete of nothing", items.Delete(ctx, key, none))
	missingItem(ctx, e, "a")
}

func updateRecord(ctx context.Context, e *env) {
	want := e.insertItem(ctx, fullItem(e, "a"))
	got, err := e.items(ctx).Update(ctx, e.itemKey("a"), func(it *item) error {
		it.Text, it.Data, it.Count = "changed", nil, it.Count+1
		equal(e, "the undeclared fields that fn is given", len(it.Extra), len(want.Extra))
		it.Extra["age"] = int64(35)
		return nil
	})
	e.ok("update", err)
	want.Text, want.Data, want.Count, want.Version = "changed", nil, want.Count+1, got.Version
	want.Extra["age"] = int64(35)
	equal(e, "what update returned", got, want)
	equal(e, "the record", e.getItem(ctx, "a"), want)
}

func updateAgain(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	e.insertItem(ctx, e.item("a"))
	calls := 0
	got, err := items.Update(ctx, key, func(it *item) error {
		if calls++; calls <= 3 {
			if _, err := items.Patch(ctx, key, repo.Add("count", 10)); err != nil {
				return err
			}
		}
		it.Count++
		return nil
	})
	e.ok("update among other writers", err)
	equal(e, "how often fn was called", calls, 4)
	equal(e, "the count", got.Count, int64(31))
	equal(e, "the record", e.getItem(ctx, "a"), got)
}

func updateAtOnce(ctx context.Context, e *env) {
	e.insertItem(ctx, e.item("a"))
	e.parallel(16, func(int) error {
		for range 5 {
			if _, err := e.items(ctx).Update(ctx, e.itemKey("a"), func(it *item) error { it.Count++; return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	equal(e, "the count", e.getItem(ctx, "a").Count, int64(80))
}

func updateVersion(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	nothing := func(*item) error { return nil }
	old := e.insertItem(ctx, e.item("a"))
	now, err := items.Update(ctx, key, nothing, repo.IfVersion(old.Version))
	e.ok("update with the version", err)
	_, err = items.Update(ctx, key, nothing, repo.IfVersion(old.Version))
	e.is("update with an old version", err, repo.ErrConflict)
	equal(e, "the record", e.getItem(ctx, "a"), now)
	e.ok("delete", items.Delete(ctx, key))
	_, err = items.Update(ctx, key, nothing)
	e.is("update of nothing", err, repo.ErrNotFound)
	missingItem(ctx, e, "a")
}

func retryable(ctx context.Context, e *env) {
	stale := e.insertItem(ctx, e.item("a"))
	now := stale
	e.ok("replace", e.items(ctx).Replace(ctx, &now))
	err := e.items(ctx).Replace(ctx, &stale)
	e.is("replace with an old version", err, repo.ErrConflict)
	facts, ok := errors.AsType[*repo.Error](err)
	e.that(ok, "a *repo.Error", "%T", err)
	got := fmt.Sprint(facts.Op, " ", facts.Collection, " ", facts.Key, " ", facts.Retryable, " ", facts.Index)
	equal(e, "the facts of the error", got, fmt.Sprintf("replace %s_items %s/a false ", e.id, stale.Shelf))
	_, err = e.items(ctx).Get(ctx, e.itemKey("none"))
	facts, ok = errors.AsType[*repo.Error](err)
	e.that(ok && !facts.Retryable && facts.Op == "get", "an error of get that is not retryable", "%+v", facts)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err = e.items(ctx).Patch(over, e.itemKey("a"), repo.Add("count", 1))
	e.is("patch with a context that has ended", err, repo.ErrTimeout)
	facts, ok = errors.AsType[*repo.Error](err)
	e.that(ok && facts.Retryable, "an error that is retryable", "%v", err)
	_, err = e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
	e.ok("the same patch with another context", err)
}
