package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

func conditionRules() []entry {
	return []entry{
		{Name: "insert", Sentence: "Insert of a record that is there is ErrExists and changes nothing; one that has a version is ErrInvalid.", Check: insertTaken},
		{Name: "insert at once", Sentence: "Of inserts at once of one key, one succeeds and the others are ErrExists.", Check: insertAtOnce},
		{Name: "replace", Sentence: "Replace of a record that is not there is ErrNotFound, and makes none.", Check: replaceNothing},
		{Name: "replace stale", Sentence: "Replace with an old version, in its field or by IfVersion, is ErrConflict.", Check: replaceStale},
		{Name: "put", Sentence: "Put writes whether or not the record is there; with a version it is Replace: ErrNotFound or ErrConflict.", Check: putVersions},
		{Name: "delete record", Sentence: "Delete removes the record; one that is not there is no error.", Check: deleteRecord},
		{Name: "delete with version", Sentence: "Delete with another version than the record's, or of no record, is ErrConflict.", Check: deleteVersions},
		{Name: "delete if exists", Sentence: "Delete with IfExists removes a record; one that is not there is ErrNotFound, alone and in a group, also with a version.", Check: deleteIfExists},
		{Name: "delete if exists at once", Sentence: "Of deletes at once of one record with IfExists, one succeeds and the others are ErrNotFound.", Check: deleteOnce},
		{Name: "patch if", Sentence: "PatchIf with another version is ErrConflict and changes nothing.", Check: patchIf},
		{Name: "no version", Sentence: "The zero version is no condition.", Check: zeroVersion},
		{Name: "update", Sentence: "Update writes what fn made of the record, and returns it.", Check: updateRecord},
		{Name: "worked edits", Sentence: "Edits at paths, elements pushed and pulled, and fractions added by four clients at once are all there.", Check: workedEdits},
		{Name: "update again", Sentence: "Update begins again when another writer was faster.", Check: updateAgain},
		{Name: "update at once", Sentence: "Of updates at once none is lost.", Check: updateAtOnce},
		{Name: "update with version", Sentence: "Update with IfVersion of another version is ErrConflict; of a record that is not there, ErrNotFound.", Check: updateVersion},
		{Name: "retryable", Sentence: "An error has operation, collection and key; that of a context which ended before anything was written is retryable, a conflict is not.", Check: retryable},
	}
}

func insertTaken(ctx context.Context, e *env) {
	want := e.insertItem(ctx, fullItem(e, "a"))
	other := e.item("a")
	e.Is("insert of a taken key", e.items(ctx).Insert(ctx, &other), repo.ErrExists)
	rule.Equal(e, "the record", e.getItem(ctx, "a"), want)
	free := e.item("b")
	free.Version = want.Version
	e.Is("insert of a record with a version", e.items(ctx).Insert(ctx, &free), repo.ErrInvalid)
	missingItem(ctx, e, "b")
	free.Version = repo.Version{}
	e.OK("insert of the same without a version", e.items(ctx).Insert(ctx, &free))
	e.That(!free.Version.IsZero() && free.Version != want.Version, "a version of its own", "none, or that of another record")
}

func insertAtOnce(ctx context.Context, e *env) {
	for round := range 10 {
		id := fmt.Sprint(round)
		won := make([]bool, 8)
		e.Parallel(len(won), func(i int) error {
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
				rule.Equal(e, "the record of the winner", e.getItem(ctx, id).Count, int64(i))
			}
		}
		rule.Equal(e, "the number of inserts that succeeded", winners, 1)
	}
}

// missingItem sees that there is no record.
func missingItem(ctx context.Context, e *env, id string) {
	ok, err := e.items(ctx).Exists(ctx, e.itemKey(id))
	e.OK("exists", err)
	e.That(!ok, "no record "+id, "one")
}

func replaceNothing(ctx context.Context, e *env) {
	it := e.item("a")
	e.Is("replace of nothing", e.items(ctx).Replace(ctx, &it), repo.ErrNotFound)
	missingItem(ctx, e, "a")
	it = e.insertItem(ctx, it)
	e.OK("delete", e.items(ctx).Delete(ctx, e.itemKey("a")))
	e.Is("replace of a deleted record", e.items(ctx).Replace(ctx, &it), repo.ErrNotFound)
	it.Version = repo.Version{}
	e.Is("replace of a deleted record without a version", e.items(ctx).Replace(ctx, &it), repo.ErrNotFound)
	missingItem(ctx, e, "a")
}

func replaceStale(ctx context.Context, e *env) {
	stale := e.insertItem(ctx, e.item("a"))
	now := stale
	now.Text = "second"
	e.OK("replace", e.items(ctx).Replace(ctx, &now))
	stale.Text = "stale"
	e.Is("replace with an old version field", e.items(ctx).Replace(ctx, &stale), repo.ErrConflict)
	other := now
	e.Is("replace with an old IfVersion", e.items(ctx).Replace(ctx, &other, repo.IfVersion(stale.Version)), repo.ErrConflict)
	rule.Equal(e, "the record", e.getItem(ctx, "a"), now)
	e.OK("delete", e.items(ctx).Delete(ctx, e.itemKey("a")))
	again := e.insertItem(ctx, e.item("a"))
	e.Is("replace with the version of a record that was deleted", e.items(ctx).Replace(ctx, &now), repo.ErrConflict)
	e.OK("replace with IfVersion", e.items(ctx).Replace(ctx, &again, repo.IfVersion(again.Version)))
}

func putVersions(ctx context.Context, e *env) {
	items := e.items(ctx)
	it := e.item("a")
	e.OK("put of a new record", items.Put(ctx, &it))
	first := it.Version
	it.Text = "second"
	e.OK("put with the version that is there", items.Put(ctx, &it))
	stale := it
	stale.Version, stale.Text = first, "stale"
	e.Is("put with an old version", items.Put(ctx, &stale), repo.ErrConflict)
	rule.Equal(e, "the record", e.getItem(ctx, "a"), it)
	stale.Version = repo.Version{}
	e.OK("put without a version", items.Put(ctx, &stale))
	rule.Equal(e, "the record", e.getItem(ctx, "a").Text, "stale")
	e.OK("delete", items.Delete(ctx, e.itemKey("a")))
	e.Is("put with a version of a record that is not there", items.Put(ctx, &stale), repo.ErrNotFound)
	missingItem(ctx, e, "a")
}

func deleteRecord(ctx context.Context, e *env) {
	items := e.items(ctx)
	e.insertItem(ctx, e.item("a"))
	e.insertItem(ctx, e.item("b"))
	for range 2 {
		e.OK("delete", items.Delete(ctx, e.itemKey("a")))
		missingItem(ctx, e, "a")
	}
	rule.Equal(e, "the record beside it", e.getItem(ctx, "b").Text, "text of b")
	again := e.insertItem(ctx, e.item("a"))
	rule.Equal(e, "the record inserted again", e.getItem(ctx, "a"), again)
}

func deleteVersions(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	old := e.insertItem(ctx, e.item("a"))
	now := old
	e.OK("replace", items.Replace(ctx, &now))
	e.Is("delete with an old version", items.Delete(ctx, key, repo.IfVersion(old.Version)), repo.ErrConflict)
	rule.Equal(e, "the record", e.getItem(ctx, "a"), now)
	e.OK("delete with its version", items.Delete(ctx, key, repo.IfVersion(now.Version)))
	e.Is("delete of nothing with a version", items.Delete(ctx, key, repo.IfVersion(now.Version)), repo.ErrConflict)
	missingItem(ctx, e, "a")
}

func deleteIfExists(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	e.Is("delete of nothing", items.Delete(ctx, key, repo.IfExists()), repo.ErrNotFound)
	it := e.insertItem(ctx, e.item("a"))
	e.Is("delete with an old version", items.Delete(ctx, key, repo.IfExists(), repo.IfVersion(repo.Version{1})), repo.ErrConflict)
	e.OK("delete", items.Delete(ctx, key, repo.IfExists()))
	missingItem(ctx, e, "a")
	e.Is("delete again", items.Delete(ctx, key, repo.IfExists()), repo.ErrNotFound)
	e.Is("delete again with a version", items.Delete(ctx, key, repo.IfVersion(it.Version), repo.IfExists()), repo.ErrNotFound)
	if e.Facts.Scope < driver.ScopePartition {
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
			e.Is("group that deletes nothing", err, repo.ErrNotFound)
			rule.Equal(e, "the record beside it", e.getItem(ctx, "b"), b)
			missingItem(ctx, e, "ca")
		} else {
			e.OK("group that deletes a record", err)
			missingItem(ctx, e, "b")
		}
	}
}

func deleteOnce(ctx context.Context, e *env) {
	items := e.items(ctx)
	for round := range 10 {
		it := e.insertItem(ctx, e.item(fmt.Sprint(round)))
		var done atomic.Int64
		e.Parallel(8, func(int) error {
			err := items.Delete(ctx, e.itemKey(it.ID), repo.IfExists())
			if err == nil {
				done.Add(1)
			}
			if errors.Is(err, repo.ErrNotFound) {
				return nil
			}
			return err
		})
		rule.Equal(e, "the deletes that succeeded", done.Load(), 1)
	}
}

func patchIf(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	it := e.insertItem(ctx, e.item("a"))
	v, err := items.PatchIf(ctx, key, it.Version, repo.Add("count", 1))
	e.OK("patch with the version", err)
	_, err = items.PatchIf(ctx, key, it.Version, repo.Add("count", 1))
	e.Is("patch with an old version", err, repo.ErrConflict)
	it.Count, it.Version = 1, v
	rule.Equal(e, "the record", e.getItem(ctx, "a"), it)
}

func zeroVersion(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	it := e.insertItem(ctx, e.item("a"))
	none := repo.IfVersion(repo.Version{})
	it.Version = repo.Version{}
	e.OK("replace", items.Replace(ctx, &it, none))
	it.Version = repo.Version{}
	e.OK("put", items.Put(ctx, &it, none))
	_, err := items.PatchIf(ctx, key, repo.Version{}, repo.Add("count", 1))
	e.OK("patch", err)
	_, err = items.Update(ctx, key, func(it *item) error { it.Count++; return nil }, none)
	e.OK("update", err)
	rule.Equal(e, "the count", e.getItem(ctx, "a").Count, int64(2))
	e.OK("delete", items.Delete(ctx, key, none))
	e.OK("delete of nothing", items.Delete(ctx, key, none))
	missingItem(ctx, e, "a")
}

func updateRecord(ctx context.Context, e *env) {
	want := e.insertItem(ctx, fullItem(e, "a"))
	got, err := e.items(ctx).Update(ctx, e.itemKey("a"), func(it *item) error {
		it.Text, it.Data, it.Count = "changed", nil, it.Count+1
		rule.Equal(e, "the undeclared fields that fn is given", len(it.Extra), len(want.Extra))
		it.Extra["age"] = int64(35)
		return nil
	})
	e.OK("update", err)
	want.Text, want.Data, want.Count, want.Version = "changed", nil, want.Count+1, got.Version
	want.Extra["age"] = int64(35)
	rule.Equal(e, "what update returned", got, want)
	rule.Equal(e, "the record", e.getItem(ctx, "a"), want)
}

func workedEdits(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	it := e.insertItem(ctx, e.item("a"))
	_, err := items.Patch(ctx, key, repo.Set("part.name", "p"), repo.Push("list", 0, "x", "y", "x"), repo.Set("extra.deep.text", "t"))
	e.OK("patch of paths that are not there", err)
	const each = 5
	e.Parallel(4, func(client int) error {
		for n := range each {
			edits := []repo.Edit{repo.Push("list", 0, fmt.Sprint(client, n)), repo.Add("ratio", 0.25), repo.Add("part.cost", 0.5), repo.Add("props.n", 1), repo.Add("extra.n", 2)}
			if _, err := items.Patch(ctx, key, edits...); err != nil {
				return err
			}
		}
		return nil
	})
	_, err = items.Patch(ctx, key, repo.Pull("list", "x"))
	e.OK("pull", err)
	got, err := items.PatchGet(ctx, key, repo.PushFront("list", 4*each+1, "first", "second"), repo.Unset("extra.deep.text"))
	e.OK("patch get", err)
	rule.Equal(e, "the record", e.getItem(ctx, "a"), got)
	rule.Equal(e, "the first elements", got.List[:3], []string{"first", "second", "y"})
	slices.Sort(got.List)
	rule.Equal(e, "how many elements there are", len(slices.Compact(got.List)), 4*each+1)
	it.List, it.Version = got.List, got.Version
	it.Ratio, it.Part, it.Props = each, &part{Name: "p", Cost: 2 * each}, map[string]int64{"n": 4 * each}
	it.Extra = map[string]any{"extra": map[string]any{"n": int64(8 * each)}}
	rule.Equal(e, "the record without the order of its list", got, it)
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
	e.OK("update among other writers", err)
	rule.Equal(e, "how often fn was called", calls, 4)
	rule.Equal(e, "the count", got.Count, int64(31))
	rule.Equal(e, "the record", e.getItem(ctx, "a"), got)
}

func updateAtOnce(ctx context.Context, e *env) {
	e.insertItem(ctx, e.item("a"))
	e.Parallel(16, func(int) error {
		for range 5 {
			if _, err := e.items(ctx).Update(ctx, e.itemKey("a"), func(it *item) error { it.Count++; return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	rule.Equal(e, "the count", e.getItem(ctx, "a").Count, int64(80))
}

func updateVersion(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("a")
	nothing := func(*item) error { return nil }
	old := e.insertItem(ctx, e.item("a"))
	now, err := items.Update(ctx, key, nothing, repo.IfVersion(old.Version))
	e.OK("update with the version", err)
	_, err = items.Update(ctx, key, nothing, repo.IfVersion(old.Version))
	e.Is("update with an old version", err, repo.ErrConflict)
	rule.Equal(e, "the record", e.getItem(ctx, "a"), now)
	e.OK("delete", items.Delete(ctx, key))
	_, err = items.Update(ctx, key, nothing)
	e.Is("update of nothing", err, repo.ErrNotFound)
	missingItem(ctx, e, "a")
}

func retryable(ctx context.Context, e *env) {
	stale := e.insertItem(ctx, e.item("a"))
	now := stale
	e.OK("replace", e.items(ctx).Replace(ctx, &now))
	err := e.items(ctx).Replace(ctx, &stale)
	e.Is("replace with an old version", err, repo.ErrConflict)
	facts, ok := errors.AsType[*repo.Error](err)
	e.That(ok, "a *repo.Error", "%T", err)
	got := fmt.Sprint(facts.Op, " ", facts.Collection, " ", facts.Key, " ", facts.Retryable, " ", facts.Index)
	rule.Equal(e, "the facts of the error", got, fmt.Sprintf("replace %s_items %s/a false ", e.ID, stale.Shelf))
	_, err = e.items(ctx).Get(ctx, e.itemKey("none"))
	facts, ok = errors.AsType[*repo.Error](err)
	e.That(ok && !facts.Retryable && facts.Op == "get", "an error of get that is not retryable", "%+v", facts)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err = e.items(ctx).Patch(over, e.itemKey("a"), repo.Add("count", 1))
	e.Is("patch with a context that has ended", err, repo.ErrTimeout)
	facts, ok = errors.AsType[*repo.Error](err)
	e.That(ok && facts.Retryable, "an error that is retryable", "%v", err)
	_, err = e.items(ctx).Patch(ctx, e.itemKey("a"), repo.Add("count", 1))
	e.OK("the same patch with another context", err)
}
