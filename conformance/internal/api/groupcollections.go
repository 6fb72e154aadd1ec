package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

func groupCollectionRules() []entry {
	return []entry{
		{Name: "several collections", Sentence: "A group of several collections is done whole, or not at all; a store that cannot says so.", Check: severalCollections},
		{Name: "across partitions", Sentence: "A group goes across partitions if it asks for it and the store can, and then is done whole or not at all.", Check: acrossPartitions},
		{Name: "checks in groups", Sentence: "A group is done only if a record that it checks is there, is not there, or has a version, and leaves that record as it is.", Needs: tested.ChangesPartition, Check: checksInGroups},
		{Name: "checks of expired", Sentence: "For a check a record that has expired is not there.", Needs: tested.ChangesPartition, Check: checksOfExpired},
		{Name: "checks at once", Sentence: "Of two groups at once that each check that what the other one inserts is not there, one at most is done.", Needs: tested.ChangesPartition, Check: checksAtOnce},
		{Name: "a condition elsewhere", Sentence: "A record of another collection that a group updates bounds it: of what many add at once no more is there.", Needs: tested.ChangesStore, Check: conditionElsewhere},
	}
}

// postOnShelf returns a post in the partition of the rule's items.
func postOnShelf(e *env, id string) post {
	p := e.post(id, "IT", 1).with(e.name(id))
	p.Author = e.name("shelf")
	return p
}

func hasPost(ctx context.Context, e *env, p *post) bool {
	there, err := e.posts(ctx).Exists(ctx, repo.Key{p.Author, p.ID})
	e.OK("exists", err)
	return there
}

func severalCollections(ctx context.Context, e *env) {
	a, p := e.item("a"), postOnShelf(e, "p")
	g := e.items(ctx).Store().Group()
	e.items(ctx).In(g).Insert(&a)
	e.posts(ctx).In(g).Insert(&p)
	err := g.Commit(ctx)
	if tested.ChangesStore(e.Facts) != "" {
		e.Is("group of two collections", err, repo.ErrUnsupported)
		rule.Equal(e, "the records", shelfIDs(ctx, e), []string{})
		return
	}
	e.OK("group of two collections", err)
	rule.Equal(e, "the records", shelfIDs(ctx, e), []string{"a=0"})
	rule.Equal(e, "the post is there", hasPost(ctx, e, &p), true)
	rule.Equal(e, "the versions", []repo.Version{a.Version, p.Version}, []repo.Version{e.getItem(ctx, "a").Version, a.Version})
	for i, bad := range []post{postOnShelf(e, "p"), postOnShelf(e, "q")} {
		bad.Slug = p.Slug
		b := e.item(fmt.Sprint("b", i))
		g := e.items(ctx).Store().Group()
		e.items(ctx).In(g).Insert(&b)
		e.items(ctx).In(g).Update(e.itemKey("a"), plusOne)
		e.posts(ctx).In(g).Insert(&bad)
		err := g.Commit(ctx)
		e.Is("group whose post cannot be inserted", err, repo.ErrExists)
		facts, ok := errors.AsType[*repo.Error](err)
		e.That(ok && facts.Collection == e.ID+"_posts", "an error of the collection of posts", "%v", err)
		rule.Equal(e, "the records", shelfIDs(ctx, e), []string{"a=0"})
	}
	clean(ctx, e, e.posts(ctx))
}

func acrossPartitions(ctx context.Context, e *env) {
	commit := func(ids []string, opts ...repo.GroupOption) error {
		g := e.items(ctx).Store().Group(opts...)
		for _, id := range ids {
			it := e.item(id)
			it.Shelf = e.name("shelf of " + id)
			e.items(ctx).In(g).Insert(&it)
		}
		return g.Commit(ctx)
	}
	there := func(id string) bool {
		found, err := e.items(ctx).Exists(ctx, repo.Key{e.name("shelf of " + id), id})
		e.OK("exists", err)
		return found
	}
	without, with := commit([]string{"a", "b"}), commit([]string{"c", "d"}, repo.AcrossPartitions())
	if tested.ChangesPartition(e.Facts) == "" {
		e.Is("group of two partitions", without, repo.ErrInvalid)
	}
	can := tested.ChangesStore(e.Facts) == ""
	rule.Equal(e, "which are there", []bool{there("a"), there("b"), there("c"), there("d")}, []bool{false, false, can, can})
	if !can {
		e.Is("group across partitions", with, repo.ErrUnsupported)
		return
	}
	e.OK("group across partitions", with)
	e.Is("group of which one record is there", commit([]string{"e", "d"}, repo.AcrossPartitions()), repo.ErrExists)
	rule.Equal(e, "the other one is there", there("e"), false)
}

func checksInGroups(ctx context.Context, e *env) {
	a := e.insertItem(ctx, e.item("a"))
	gone := e.insertItem(ctx, e.item("gone"))
	e.OK("delete", e.items(ctx).Delete(ctx, e.itemKey("gone")))
	absent, old := repo.IfAbsent(), repo.IfVersion(gone.Version)
	for i, tt := range []struct {
		id   string
		opts []repo.WriteOption
		want error
	}{
		{"a", nil, nil}, {"a", []repo.WriteOption{repo.IfVersion(a.Version)}, nil}, {"a", []repo.WriteOption{old}, repo.ErrConflict},
		{"a", []repo.WriteOption{absent}, repo.ErrExists}, {"gone", nil, repo.ErrNotFound}, {"gone", []repo.WriteOption{absent}, nil},
		{"gone", []repo.WriteOption{old}, repo.ErrNotFound}, {"never", nil, repo.ErrNotFound}, {"never", []repo.WriteOption{absent}, nil},
	} {
		for _, first := range []bool{true, false} {
			b := e.item(fmt.Sprint("b", i, first))
			g := e.items(ctx).Store().Group()
			in := e.items(ctx).In(g)
			if first {
				in.Check(e.itemKey(tt.id), tt.opts...)
			}
			in.Insert(&b)
			if !first {
				in.Check(e.itemKey(tt.id), tt.opts...)
			}
			err := g.Commit(ctx)
			if tt.want == nil {
				e.OK("group with a check of "+tt.id, err)
			} else {
				e.Is("group with a check of "+tt.id, err, tt.want)
			}
			found, err := e.items(ctx).Exists(ctx, e.itemKey(b.ID))
			e.OK("exists", err)
			rule.Equal(e, "what is inserted with a check of "+tt.id+" is there", found, tt.want == nil)
		}
	}
	rule.Equal(e, "the version of what was checked", e.getItem(ctx, "a").Version, a.Version)
}

func checksOfExpired(ctx context.Context, e *env) {
	d := newDesk(ctx, e, false)
	over := d.login(ctx, "over", time.Second)
	commit := func(id string, opts ...repo.WriteOption) error {
		g := d.sessions.Store().Group()
		in := d.sessions.In(g)
		in.Check(d.key("over"), opts...)
		in.Insert(&session{User: over.User, ID: id, State: over.State})
		return g.Commit(ctx)
	}
	e.OK("group that checks what has not expired", commit("a"))
	e.Is("group that checks that it is not there", commit("b", repo.IfAbsent()), repo.ErrExists)
	d.Pass(time.Minute)
	e.Is("group that checks what has expired", commit("c"), repo.ErrNotFound)
	e.Is("group that checks its version", commit("c", repo.IfVersion(over.Version)), repo.ErrNotFound)
	e.OK("group that checks that it is not there", commit("d", repo.IfAbsent()))
}

func checksAtOnce(ctx context.Context, e *env) {
	for n := range 10 {
		ids := [2]string{fmt.Sprint("x", n), fmt.Sprint("y", n)}
		e.Parallel(2, func(w int) error {
			for {
				it := e.item(ids[w])
				g := e.items(ctx).Store().Group()
				e.items(ctx).In(g).Check(e.itemKey(ids[1-w]), repo.IfAbsent())
				e.items(ctx).In(g).Insert(&it)
				err := g.Commit(ctx)
				switch {
				case errors.Is(err, repo.ErrContention):
				case errors.Is(err, repo.ErrExists):
					return nil
				default:
					return err
				}
			}
		})
		_, found, err := e.items(ctx).GetMany(ctx, []repo.Key{e.itemKey(ids[0]), e.itemKey(ids[1])})
		e.OK("get many", err)
		e.That(found[0] != found[1], "one of two records that exclude each other", "%v", found)
	}
}

func conditionElsewhere(ctx context.Context, e *env) {
	addItems(ctx, e, func(it item) error {
		p := postOnShelf(e, it.ID)
		g := e.items(ctx).Store().Group()
		e.posts(ctx).In(g).Insert(&p)
		e.items(ctx).In(g).Update(e.itemKey("~"), func(all *item) error {
			if all.Count >= mostItems {
				return errNoRoom
			}
			return plusOne(all)
		})
		return g.Commit(ctx)
	})
	n, err := e.posts(ctx).Count(ctx, repo.Where("author", e.name("shelf")))
	e.OK("count", err)
	rule.Equal(e, "how many are there", n, mostItems)
	rule.Equal(e, "their count", e.getItem(ctx, "~").Count, int64(mostItems))
}
