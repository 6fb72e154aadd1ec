package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

func groupUpdateRules() []entry {
	return []entry{
		{Name: "updates in groups", Sentence: "A group updates and patches records; an error of an update's function is that of the group, which then does nothing.", Needs: tested.ChangesPartition, Check: updatesInGroups},
		{Name: "a lost group", Sentence: "A group that patches, whose answer or request is lost, is done once.", Needs: tested.ChangesPartition, Check: lostGroup},
		{Name: "a count as a condition", Sentence: "A record that counts others, in groups with them, bounds them: of what many add at once no more is there.", Needs: tested.ChangesPartition, Check: countAsCondition},
		{Name: "the newest few", Sentence: "Where each group beyond the bound takes the oldest away, the bound holds, and every one was added.", Needs: tested.ChangesPartition, Check: newestFew},
	}
}

var errNoRoom = errors.New("no room")

func plusOne(it *item) error {
	it.Count++
	return nil
}

func updatesInGroups(ctx context.Context, e *env) {
	a := e.insertItem(ctx, e.item("a"))
	e.insertItem(ctx, e.item("b"))
	c := e.item("c")
	g := e.items(ctx).Store().Group()
	in := e.items(ctx).In(g)
	in.Update(e.itemKey("a"), plusOne, repo.IfVersion(a.Version))
	in.Patch(e.itemKey("b"), repo.Add("count", 5))
	in.Insert(&c)
	e.OK("group", g.Commit(ctx))
	want := []string{"a=1", "b=5", "c=0"}
	rule.Equal(e, "the records", shelfIDs(ctx, e), want)
	rule.Equal(e, "the version of c", c.Version, e.getItem(ctx, "c").Version)
	for what, bad := range map[error]func(in repo.Writes[item]){
		errNoRoom:        func(in repo.Writes[item]) { in.Update(e.itemKey("a"), func(*item) error { return errNoRoom }) },
		repo.ErrNotFound: func(in repo.Writes[item]) { in.Update(e.itemKey("none"), plusOne) },
		repo.ErrConflict: func(in repo.Writes[item]) { in.Update(e.itemKey("a"), plusOne, repo.IfVersion(a.Version)) },
		repo.ErrInvalid:  func(in repo.Writes[item]) { in.Patch(e.itemKey("a"), repo.Set("id", "x")) },
	} {
		d := e.item("d")
		g := e.items(ctx).Store().Group()
		in := e.items(ctx).In(g)
		in.Insert(&d)
		bad(in)
		e.Is("group with a write that cannot be done", g.Commit(ctx), what)
		rule.Equal(e, "the records", shelfIDs(ctx, e), want)
	}
	d := e.item("d")
	g = e.items(ctx).Store().Group()
	in = e.items(ctx).In(g)
	in.Patch(e.itemKey("none"), repo.Add("count", 1))
	in.Insert(&d)
	e.Is("group with a patch of nothing", g.Commit(ctx), repo.ErrNotFound)
	rule.Equal(e, "the records", shelfIDs(ctx, e), want)
}

func lostGroup(ctx context.Context, e *env) {
	l := newLine(ctx, e)
	l.insert(ctx, "a")
	for i, plan := range []double.LossPlan{double.DoneThenLost, double.LostOnTheWay} {
		b := l.item(fmt.Sprint("b", i))
		g := l.items.Store().Group()
		in := l.items.In(g)
		in.Patch(l.itemKey("a"), repo.Add("count", 1))
		in.Insert(&b)
		l.Lose(plan)
		e.OK("group", g.Commit(ctx))
		rule.Equal(e, "the count", l.state(ctx, "a"), fmt.Sprint("text of a ", i+1))
		rule.Equal(e, "what was inserted with it", l.state(ctx, b.ID), "text of "+b.ID+" 0")
	}
}

const mostItems, adders, addsEach = 5, 4, 4

// addCounted adds a record if fewer than the bound are there, which a record says that counts them.
func addCounted(ctx context.Context, e *env, it item) error {
	g := e.items(ctx).Store().Group()
	in := e.items(ctx).In(g)
	in.Update(e.itemKey("~"), func(all *item) error {
		if all.Count >= mostItems {
			return errNoRoom
		}
		return plusOne(all)
	})
	in.Insert(&it)
	return g.Commit(ctx)
}

// addItems lets several add records at once, until each is told something else than that others
// were faster.
func addItems(ctx context.Context, e *env, add func(it item) error) {
	e.insertItem(ctx, e.item("~"))
	e.Parallel(adders, func(w int) error {
		for n := range addsEach {
			err := repo.ErrContention
			for tries := 0; errors.Is(err, repo.ErrContention) && tries < 20; tries++ {
				err = add(e.item(fmt.Sprint(n, "-", w)))
			}
			if err != nil && !errors.Is(err, errNoRoom) {
				return err
			}
		}
		return nil
	})
}

func countAsCondition(ctx context.Context, e *env) {
	addItems(ctx, e, func(it item) error { return addCounted(ctx, e, it) })
	rule.Equal(e, "how many are there, with the one that counts them", len(shelfIDs(ctx, e)), mostItems+1)
	rule.Equal(e, "their count", e.getItem(ctx, "~").Count, int64(mostItems))
}

func newestFew(ctx context.Context, e *env) {
	added := make(chan struct{}, adders*addsEach)
	addItems(ctx, e, func(it item) error {
		for {
			err := addCounted(ctx, e, it)
			if errors.Is(err, errNoRoom) {
				err = inPlaceOfOldest(ctx, e, it)
			}
			if errors.Is(err, repo.ErrNotFound) {
				continue // another one took the oldest away
			}
			if err == nil {
				added <- struct{}{}
			}
			return err
		}
	})
	rule.Equal(e, "how many were added", len(added), adders*addsEach)
	rule.Equal(e, "how many are there, with the one that counts them", len(shelfIDs(ctx, e)), mostItems+1)
	rule.Equal(e, "their count", e.getItem(ctx, "~").Count, int64(mostItems))
}

// inPlaceOfOldest adds a record and takes the oldest away, which leaves the count as it is.
func inPlaceOfOldest(ctx context.Context, e *env, it item) error {
	list, err := repo.Collect(e.items(ctx).Find(ctx, repo.Where("shelf", e.name("shelf")).Limit(1)))
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("where there is no room for more, no record is found")
	}
	g := e.items(ctx).Store().Group()
	in := e.items(ctx).In(g)
	in.Delete(e.itemKey(list[0].ID), repo.IfExists())
	in.Insert(&it)
	return g.Commit(ctx)
}
