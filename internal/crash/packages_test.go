package crash_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/copies"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/history"
	"github.com/polystore/polystore/repo/link"
)

// An owned record has the name of its owner, which is such a record itself.
type owned struct {
	Home    string       `repo:"home"`
	ID      string       `repo:"id"`
	Owner   string       `repo:"owner"`
	Name    string       `repo:"name"`
	Version repo.Version `repo:",version"`
}

// A kit is the collections of the packages on the public API of repo, as a program has them that begins now.
type kit struct {
	store  *repo.Store
	name   string
	links  *link.Links[member] // from ids to teams
	pages  *history.History[member]
	last   *history.History[member] // which keeps one revision
	owners *copies.Source[owned]
	near   *copies.Target[owned] // which lie with their owners
	far    *copies.Target[owned]
}

// openKit opens a kit by a clock that is ahead.
func openKit(ctx context.Context, s driver.Store, name string, ahead time.Duration, opts ...repo.OpenOption) (*kit, error) {
	store := repo.NewStore(s, &repo.Options{Now: func() time.Time { return time.Now().Add(ahead) }})
	k := &kit{store: store, name: name}
	byOwner := []repo.Index{{Partition: []string{"home", "owner"}, Sort: []string{"id"}}}
	idNear := func(o *owned) (repo.Key, repo.Version) { return repo.Key{o.Home, o.ID}, o.Version }
	idFar := func(o *owned) (repo.Key, repo.Version) { return repo.Key{o.ID, o.Home}, o.Version }
	pages := repo.Schema{Collection: name + "_pages", Partition: []string{"home"}, Sort: []string{"id"}}
	var errs [6]error
	k.links, errs[0] = link.Open[member](ctx, store, link.Schema{Collection: name + "_links", From: "id", To: "team", ToOrder: []string{"-note"}}, opts...)
	k.pages, errs[1] = history.Open[member](ctx, store, pages, history.Keep{Revisions: 3}, opts...)
	k.last, errs[2] = history.Open[member](ctx, store, pages, history.Keep{Revisions: 1}, opts...)
	k.owners, errs[3] = copies.OpenSource(ctx, store, repo.Schema{Collection: name + "_owners", Partition: []string{"home"}, Sort: []string{"id"}}, idNear, opts...)
	k.near, errs[4] = copies.OpenTarget(ctx, store, repo.Schema{Collection: name + "_near", With: name + "_owners", Partition: []string{"home"}, Sort: []string{"id"}, Indexes: byOwner}, idNear, opts...)
	k.far, errs[5] = copies.OpenTarget(ctx, store, repo.Schema{Collection: name + "_far", Partition: []string{"id"}, Sort: []string{"home"}, Indexes: byOwner}, idFar, opts...)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	rule := copies.Rule[owned, owned]{
		By:   []string{"home", "owner"},
		Refs: func(o *owned) []repo.Key { return []repo.Key{{o.Home, o.Owner}} },
		Copy: func(_ context.Context, o *owned, of []*owned) error {
			if o.Name = "nobody"; of[0] != nil {
				o.Name = of[0].Name
			}
			return nil
		},
	}
	return k, errors.Join(copies.Declare(k.near, k.owners, rule), copies.Declare(k.far, k.owners, rule))
}

// collections returns the names of all collections that k has, those first which lie with others.
func (k *kit) collections() (names []string) {
	all := []string{"_links", "_pages_history", "_pages", "_near", "_owners_due", "_owners", "_far"}
	if k.store.Facts().Scope != driver.ScopeStore {
		all = append([]string{"_near_confirm", "_far_confirm"}, all...)
	}
	for _, suffix := range all {
		names = append(names, k.name+suffix)
	}
	return names
}

// An act is what a program does that is stopped.
type act struct {
	name string // of the package first
	do   func(ctx context.Context, k *kit, home string) error

	// Each of its commits is right by itself, and the act, done again, does the rest.
	resumes bool
}

func (a *act) of() string { return a.name[:strings.Index(a.name, "-")] }

var packages = []string{"link", "history", "copies"}

// acts returns all acts.
func acts() []act {
	return slices.Concat(linkActs(), historyActs(), copiesActs())
}

func linked(home, id, team, note string) *member {
	return &member{Home: home, ID: home + id, Team: home + team, Note: note}
}

func linkActs() []act {
	return []act{
		{"link-add", func(ctx context.Context, k *kit, home string) error {
			return k.links.Add(ctx, linked(home, "b", "y", "1"))
		}, false},
		{"link-remove", func(ctx context.Context, k *kit, home string) error { return k.links.Remove(ctx, home+"a", home+"x") }, false},
		{"link-update", func(ctx context.Context, k *kit, home string) error {
			_, err := k.links.Update(ctx, home+"a", home+"x", func(m *member) error { m.Note = "9"; return nil })
			return err
		}, false},
		{"link-removeall", func(ctx context.Context, k *kit, home string) error {
			_, err := k.links.RemoveAll(ctx, k.links.From(home+"a"))
			return err
		}, true},
	}
}

func paged(home, note string) *member { return &member{Home: home, ID: "p", Note: note} }

func historyActs() []act {
	return []act{
		{"history-insert", func(ctx context.Context, k *kit, home string) error {
			return k.pages.Insert(ctx, &member{Home: home, ID: "new", Note: "1"})
		}, false},
		{"history-put", func(ctx context.Context, k *kit, home string) error { return k.pages.Put(ctx, paged(home, "4")) }, false},
		{"history-update", func(ctx context.Context, k *kit, home string) error {
			_, err := k.pages.Update(ctx, repo.Key{home, "p"}, func(m *member) error { m.Note += "u"; return nil })
			return err
		}, false},
		{"history-delete", func(ctx context.Context, k *kit, home string) error { return k.pages.Delete(ctx, repo.Key{home, "p"}) }, false},
		{"history-restore", func(ctx context.Context, k *kit, home string) error {
			return k.pages.Restore(ctx, repo.Key{home, "p"}, 2)
		}, false},
		{"history-prune", func(ctx context.Context, k *kit, _ string) error {
			for _, err := range k.last.Prune(ctx, "") {
				if err != nil {
					return err
				}
			}
			return nil
		}, true},
	}
}

func copiesActs() []act {
	put := func(ctx context.Context, k *kit, home string) error {
		return k.owners.Put(ctx, &owned{Home: home, ID: "ann", Name: "Anna"})
	}
	return []act{
		{"copies-source", put, false},
		{"copies-delete", func(ctx context.Context, k *kit, home string) error {
			return k.owners.Delete(ctx, repo.Key{home, "ann"})
		}, false},
		{"copies-near", func(ctx context.Context, k *kit, home string) error {
			return k.near.Put(ctx, &owned{Home: home, ID: home + "3", Owner: "ann"})
		}, false},
		{"copies-far", func(ctx context.Context, k *kit, home string) error {
			return k.far.Put(ctx, &owned{Home: home, ID: home + "3", Owner: "ann"})
		}, false},
		{"copies-turn", func(ctx context.Context, k *kit, home string) error {
			_, err := k.far.Update(ctx, repo.Key{home + "2", home}, func(o *owned) error { o.Owner = "ann"; return nil })
			return err
		}, false},
		{"copies-follow", func(ctx context.Context, k *kit, home string) error {
			if err := put(ctx, k, home); err != nil {
				return err
			}
			_, err := k.owners.Follow(ctx)
			return err
		}, true},
	}
}

// prepare makes what is there before an act.
func (a *act) prepare(ctx context.Context, k *kit, home string) error {
	switch a.of() {
	case "link":
		return errors.Join(k.links.Add(ctx, linked(home, "a", "x", "1")), k.links.Add(ctx, linked(home, "a", "y", "2")), k.links.Add(ctx, linked(home, "b", "x", "3")))
	case "history":
		return errors.Join(k.pages.Put(ctx, paged(home, "1")), k.pages.Put(ctx, paged(home, "2")), k.pages.Put(ctx, paged(home, "3")))
	}
	err := errors.Join(k.owners.Put(ctx, &owned{Home: home, ID: "ann", Name: "Ann"}), k.owners.Put(ctx, &owned{Home: home, ID: "bob", Name: "Bob"}))
	for i, owner := range []string{"ann", "bob"} {
		o, p := owned{Home: home, ID: fmt.Sprint(home, i+1), Owner: owner}, owned{Home: home, ID: fmt.Sprint(home, i+1), Owner: owner}
		err = errors.Join(err, k.near.Put(ctx, &o), k.far.Put(ctx, &p))
	}
	_, followed := k.owners.Follow(ctx)
	return errors.Join(err, followed)
}
