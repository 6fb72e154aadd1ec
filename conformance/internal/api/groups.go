package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

func groupRules() []entry {
	list := []entry{
		{Name: "together", Sentence: "A group does all its writes, and fills the version fields.", Check: groupTogether},
		{Name: "none", Sentence: "A group of which one write cannot be done does none, and returns the error of that write.", Check: groupNone},
		{Name: "versions in groups", Sentence: "Each write of a group may expect a version.", Check: groupVersions},
		{Name: "groups at once", Sentence: "Groups at once are isolated: what they move is neither lost nor made.", Check: groupsAtOnce},
		{Name: "large group", Sentence: "A group may have a hundred records, and insert as many that were deleted a moment ago.", Check: groupLarge},
		{Name: "largest group", Sentence: "A group of as many rows as Facts says is done whole, or not at all; one more is ErrTooLarge, and nothing of it is done.", Check: largestGroup},
		{Name: "longest group", Sentence: "A group with as many bytes as Facts says is done; one with more is ErrTooLarge, and nothing of it is done.", Check: longestGroup},
	}
	for i := range list {
		list[i].Needs = tested.ChangesPartition
	}
	list = append(list, groupUpdateRules()...)
	list = append(list, groupCollectionRules()...)
	list = append(list, togetherRules()...)
	return append(list, entry{Name: "groups and indexes", Sentence: "The index rows of a group's records change with it, or not at all.", Needs: tested.Both(tested.ChangesPartition, tested.KeepsRemote), Check: groupIndexes})
}

func shelfIDs(ctx context.Context, e *env) []string {
	list := []string{}
	for _, it := range collect(e, "find", e.items(ctx).Find(ctx, repo.Where("shelf", e.name("shelf")))) {
		list = append(list, fmt.Sprint(it.ID, "=", it.Count))
	}
	return list
}

func groupTogether(ctx context.Context, e *env) {
	a, b, c, d := e.insertItem(ctx, e.item("a")), e.insertItem(ctx, e.item("b")), e.item("c"), e.item("d")
	a.Count, c.Count, d.Count = 1, 3, 4
	g := e.items(ctx).Store().Group()
	in := e.items(ctx).In(g)
	in.Replace(&a)
	in.Delete(repo.Key{b.Shelf, b.ID})
	in.Insert(&c)
	in.Put(&d)
	e.OK("group", g.Commit(ctx))
	rule.Equal(e, "the records", shelfIDs(ctx, e), []string{"a=1", "c=3", "d=4"})
	for _, it := range []item{a, c, d} {
		rule.Equal(e, "the version of "+it.ID, it.Version, e.getItem(ctx, it.ID).Version)
	}
}

func groupNone(ctx context.Context, e *env) {
	a := e.insertItem(ctx, e.item("a"))
	e.insertItem(ctx, e.item("b"))
	for what, bad := range map[error]func(in repo.Writes[item]){
		repo.ErrExists:   func(in repo.Writes[item]) { it := e.item("b"); in.Insert(&it) },
		repo.ErrNotFound: func(in repo.Writes[item]) { it := e.item("none"); in.Replace(&it) },
		repo.ErrConflict: func(in repo.Writes[item]) { in.Delete(e.itemKey("b"), repo.IfVersion(repo.Version{1})) },
	} {
		for _, first := range []bool{true, false} {
			g, changed, fresh := e.items(ctx).Store().Group(), a, e.item("c")
			in := e.items(ctx).In(g)
			changed.Count = 7
			if first {
				bad(in)
			}
			in.Replace(&changed)
			in.Insert(&fresh)
			if !first {
				bad(in)
			}
			err := g.Commit(ctx)
			e.Is("group with a write that cannot be done", err, what)
			facts, ok := errors.AsType[*repo.Error](err)
			e.That(ok && facts.Key != "", "an error that names the record", "%v", err)
			rule.Equal(e, "the records", shelfIDs(ctx, e), []string{"a=0", "b=0"})
		}
	}
}

func groupVersions(ctx context.Context, e *env) {
	a, b := e.insertItem(ctx, e.item("a")), e.insertItem(ctx, e.item("b"))
	commit := func(va, vb repo.Version) error {
		x, y := a, b
		x.Version, y.Version, x.Count, y.Count = repo.Version{}, repo.Version{}, x.Count+1, y.Count+1
		g := e.items(ctx).Store().Group()
		in := e.items(ctx).In(g)
		in.Replace(&x, repo.IfVersion(va))
		in.Put(&y, repo.IfVersion(vb))
		err := g.Commit(ctx)
		if err == nil {
			a, b = x, y
		}
		return err
	}
	old := a.Version
	e.OK("group with both versions", commit(a.Version, b.Version))
	e.Is("group with an old version of the first", commit(old, b.Version), repo.ErrConflict)
	e.Is("group with an old version of the second", commit(a.Version, old), repo.ErrConflict)
	e.OK("group without versions", commit(repo.Version{}, repo.Version{}))
	rule.Equal(e, "the records", shelfIDs(ctx, e), []string{"a=2", "b=2"})
}

// groupsAtOnce moves counts from one record to another and back.
func groupsAtOnce(ctx context.Context, e *env) {
	ids := []string{"a", "b", "c"}
	for _, id := range ids {
		it := e.item(id)
		it.Count = 100
		e.insertItem(ctx, it)
	}
	e.Parallel(4, func(w int) error {
		for n := range 20 {
			from, to := ids[(w+n)%3], ids[(w+n+1)%3]
			list, _, err := e.items(ctx).GetMany(ctx, []repo.Key{e.itemKey(from), e.itemKey(to)})
			if err != nil {
				return err
			}
			by := int64(20*w+n) * int64(20*w+n) // each another one, so that what goes wrong does not cancel out
			list[0].Count, list[1].Count = list[0].Count-by, list[1].Count+by
			g := e.items(ctx).Store().Group()
			in := e.items(ctx).In(g)
			in.Replace(&list[0])
			in.Replace(&list[1])
			if err := g.Commit(ctx); err != nil && !errors.Is(err, repo.ErrConflict) {
				return err
			}
		}
		return nil
	})
	sum := int64(0)
	for _, id := range ids {
		sum += e.getItem(ctx, id).Count
	}
	rule.Equal(e, "the sum of the counts", sum, int64(300))
}

func groupLarge(ctx context.Context, e *env) {
	list := make([]item, 100)
	g := e.items(ctx).Store().Group()
	in := e.items(ctx).In(g)
	for i := range list {
		list[i] = e.item(fmt.Sprintf("%03d", i))
		in.Insert(&list[i])
	}
	e.OK("group of a hundred", g.Commit(ctx))
	rule.Equal(e, "the number of records", len(shelfIDs(ctx, e)), 100)
	g = e.items(ctx).Store().Group()
	in = e.items(ctx).In(g)
	for i := range list {
		list[i].Count = 1
		if i == 99 {
			list[i].Version = repo.Version{1}
		}
		in.Replace(&list[i])
	}
	e.Is("group of a hundred with one that cannot be done", g.Commit(ctx), repo.ErrConflict)
	rule.Equal(e, "how many changed", len(slices.DeleteFunc(shelfIDs(ctx, e), func(s string) bool { return s[len(s)-2:] == "=0" })), 0)
	gone, anew := e.items(ctx).Store().Group(), e.items(ctx).Store().Group()
	goneIn, anewIn := e.items(ctx).In(gone), e.items(ctx).In(anew)
	for i := range list {
		list[i].Version = repo.Version{}
		goneIn.Delete(repo.Key{list[i].Shelf, list[i].ID})
		anewIn.Insert(&list[i])
	}
	e.OK("delete of a hundred", gone.Commit(ctx))
	e.OK("insert of the hundred that were deleted", anew.Commit(ctx))
	rule.Equal(e, "the number of records", len(shelfIDs(ctx, e)), 100)
}

func groupIndexes(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	a, b := e.post("a", "IT", 1).with(e.name("a"), e.name("t")), e.post("b", "IT", 2).with(e.name("b"), e.name("t"))
	g := posts.Store().Group()
	in := posts.In(g)
	in.Insert(&a)
	in.Insert(&b)
	e.OK("group", g.Commit(ctx))
	rule.Equal(e, "what the indexes find", byEvery(ctx, e, "IT", "t", "a")["tag"], []string{"b", "a"})
	a.Category, b.Category, a.Tags = e.name("new"), e.name("new"), nil
	g = posts.Store().Group()
	in = posts.In(g)
	in.Replace(&a)
	b.Version = repo.Version{1}
	in.Replace(&b)
	e.Is("group with a wrong version", g.Commit(ctx), repo.ErrConflict)
	rule.Equal(e, "what the indexes find of the old", e.ids(ctx, repo.Where("category", e.name("IT")).Order("created")), []string{"a", "b"})
	rule.Equal(e, "what they find of the new", e.ids(ctx, repo.Where("category", e.name("new"))), []string{})
	clean(ctx, e, posts)
}

func bulkRules() []entry {
	return []entry{
		{Name: "all of them", Sentence: "InsertAll inserts every record of a sequence and returns their number.", Check: bulkAll},
		{Name: "some fail", Sentence: "A record that fails does not keep others out, and the error says which failed and why.", Check: bulkSomeFail},
		{Name: "sequence ends", Sentence: "An error of the sequence ends InsertAll and is returned; what came before it is inserted.", Check: bulkSequence},
		{Name: "context ends", Sentence: "InsertAll ends with the context, and says how many were inserted.", Check: bulkContext},
		{Name: "many writes", Sentence: "PutAll, PatchAll and DeleteAll do with each record of a sequence what Put, Patch and Delete do.", Check: bulkWrites},
		{Name: "bulk and indexes", Sentence: "Records of InsertAll are found by every index, and unique values hold among them.", Needs: tested.Both(tested.ChangesPartition, tested.KeepsRemote), Check: bulkIndexes},
	}
}

func itemList(e *env, n int) []item {
	list := make([]item, n)
	for i := range list {
		list[i] = e.item(fmt.Sprintf("%04d", i))
		list[i].Shelf = e.name(fmt.Sprint("shelf", i%3))
	}
	return list
}

// onShelves returns how many records of itemList there are.
func onShelves(ctx context.Context, e *env) int {
	sum := 0
	for i := range 3 {
		n, err := e.items(ctx).Count(ctx, repo.Where("shelf", e.name(fmt.Sprint("shelf", i))))
		e.OK("count", err)
		sum += n
	}
	return sum
}

func bulkAll(ctx context.Context, e *env) {
	list := itemList(e, 300)
	n, err := e.items(ctx).InsertAll(ctx, double.Sequence(list, nil))
	e.OK("insert all", err)
	rule.Equal(e, "how many were inserted", n, 300)
	rule.Equal(e, "how many there are", onShelves(ctx, e), 300)
	for _, i := range []int{0, 63, 64, 65, 299} {
		got, err := e.items(ctx).Get(ctx, repo.Key{list[i].Shelf, list[i].ID})
		e.OK("get", err)
		e.That(!got.Version.IsZero() && got.Text == list[i].Text, "the record as given", "%s", rule.Brief(got))
	}
}

func bulkSomeFail(ctx context.Context, e *env) {
	list := itemList(e, 150)
	insertAll(ctx, e, e.items(ctx), list[70], list[140])
	list[3].Text = "\xff"
	list[80] = list[79]
	want := []int{3, 70, 80, 140}
	n, err := e.items(ctx).InsertAll(ctx, double.Sequence(list, nil))
	rule.Equal(e, "how many were inserted", n, 146)
	batch, ok := errors.AsType[*repo.BatchError](err)
	e.That(ok, "a *BatchError", "%v", err)
	var got []int
	for _, f := range batch.Failed {
		got = append(got, f.Index)
		kind := repo.ErrExists
		if f.Index == 3 {
			kind = repo.ErrInvalid
		}
		e.Is(fmt.Sprintf("record %d", f.Index), f.Err, kind)
	}
	rule.Equal(e, "which failed", got, want)
	rule.Equal(e, "inserted and more", fmt.Sprint(batch.Done, batch.More), "146 0")
	e.That(errors.Is(err, repo.ErrExists), "an error that is ErrExists", "%v", err)
	rule.Equal(e, "how many there are", onShelves(ctx, e), 148) // of 150, less the invalid one and the one that came twice
}

func bulkSequence(ctx context.Context, e *env) {
	mine := errors.New("mine")
	n, err := e.items(ctx).InsertAll(ctx, double.Sequence(itemList(e, 100), mine))
	e.Is("insert all of a sequence that fails", err, mine)
	rule.Equal(e, "how many were inserted", n, 100)
	rule.Equal(e, "how many there are", onShelves(ctx, e), 100)
}

func bulkContext(ctx context.Context, e *env) {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	list := itemList(e, 300)
	seq := func(yield func(item, error) bool) {
		for i := range list {
			if i == 200 {
				cancel()
			}
			if !yield(list[i], nil) {
				return
			}
		}
	}
	n, err := e.items(ctx).InsertAll(limited, seq)
	e.Is("insert all whose context ends", err, context.Canceled)
	e.That(n <= 200, "at most the 200 records before", "%d", n)
	rule.Equal(e, "how many there are", onShelves(ctx, e), n)
}

func bulkIndexes(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	list := make([]post, 90)
	for i := range list {
		slug := fmt.Sprint("s", i)
		if i == 50 {
			slug = "s10" // taken by another one of the sequence
		}
		list[i] = e.post(fmt.Sprintf("%02d", i), fmt.Sprint("c", i%3), i).with(e.name(slug), e.name("t"))
	}
	n, err := posts.InsertAll(ctx, double.Sequence(list, nil))
	rule.Equal(e, "how many were inserted", n, 89)
	batch, ok := errors.AsType[*repo.BatchError](err)
	e.That(ok && len(batch.Failed) == 1 && batch.Failed[0].Index == 50 && errors.Is(err, repo.ErrExists), "record 50 to fail with ErrExists", "%v", err)
	rule.Equal(e, "how many the index over all finds", len(e.ids(ctx, e.created())), 89)
	rule.Equal(e, "how many the tag finds", len(e.ids(ctx, repo.Where("tags[]", e.name("t")))), 89)
	rule.Equal(e, "the owner of a value", e.ids(ctx, repo.Where("slug", e.name("s10"))), []string{"10"})
	rule.Equal(e, "the newest of a category", e.ids(ctx, repo.Where("category", e.name("c1")).Order("-created").Limit(3)), []string{"88", "85", "82"})
	clean(ctx, e, posts)
}

func bulkWrites(ctx context.Context, e *env) {
	items, list := e.items(ctx), itemList(e, 150)
	n, err := items.InsertAll(ctx, double.Sequence(list[:90], nil))
	e.OK("insert all", err)
	rule.Equal(e, "how many were inserted", n, 90)
	for i := range list {
		list[i].Text = "put"
	}
	n, err = items.PutAll(ctx, double.Sequence(list, nil))
	e.OK("put all", err)
	rule.Equal(e, "how many were put", n, 150)
	keys := func(yield func(repo.Key, error) bool) {
		for i := 0; i < len(list) && yield(repo.Key{list[i].Shelf, list[i].ID}, nil); i += 2 {
		}
	}
	n, err = items.PatchAll(ctx, keys, repo.Set("text", "patched"))
	e.OK("patch all", err)
	rule.Equal(e, "how many were patched", n, 75)
	texts := map[string]int{}
	for i := range 3 {
		for rec, err := range items.Find(ctx, repo.Where("shelf", e.name(fmt.Sprint("shelf", i)))) {
			e.OK("find", err)
			texts[rec.Text]++
		}
	}
	rule.Equal(e, "the texts", texts, map[string]int{"put": 75, "patched": 75})
	n, err = items.DeleteAll(ctx, keys)
	e.OK("delete all", err)
	rule.Equal(e, "how many were deleted", n, 75)
	rule.Equal(e, "how many there are", onShelves(ctx, e), 75)
	n, err = items.PatchAll(ctx, keys, repo.Set("text", "again"))
	batch, ok := errors.AsType[*repo.BatchError](err)
	e.That(n == 0 && ok && len(batch.Failed) == 75, "75 failures", "%d, %v", n, err)
	e.Is("patch all of deleted records", err, repo.ErrNotFound)
}
