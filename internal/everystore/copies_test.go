package everystore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/copies"
)

// A paper has the level of the skill that it is about.
type paper struct {
	ID      string       `repo:"id"`
	Skill   string       `repo:"skill"`
	Level   int64        `repo:"level"`
	Version repo.Version `repo:",version"`
}

type leveled struct {
	Skill   string       `repo:"skill"`
	Level   int64        `repo:"level"`
	Version repo.Version `repo:",version"`
}

func openCopies(t *testing.T, store *repo.Store, level func(ctx context.Context, of *leveled) (int64, error)) (*copies.Target[paper], *copies.Source[leveled]) {
	t.Helper()
	skills := good(copies.OpenSource(t.Context(), store, repo.Schema{Collection: "skills", Partition: []string{"skill"}},
		func(s *leveled) (repo.Key, repo.Version) { return repo.Key{s.Skill}, s.Version }))(t)
	papers := good(copies.OpenTarget(t.Context(), store, repo.Schema{
		Collection: "papers", Partition: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"skill"}, Sort: []string{"id"}}},
	}, func(p *paper) (repo.Key, repo.Version) { return repo.Key{p.ID}, p.Version }))(t)
	must(t, copies.Declare(papers, skills, copies.Rule[paper, leveled]{
		By:   []string{"skill"},
		Refs: func(p *paper) []repo.Key { return []repo.Key{{p.Skill}} },
		Copy: func(ctx context.Context, p *paper, of []*leveled) (err error) {
			if p.Level = -1; of[0] != nil {
				p.Level, err = level(ctx, of[0])
			}
			return err
		},
	}))
	return papers, skills
}

// upToDate follows what is due, and says what is wrong then.
func upToDate(t *testing.T, papers *copies.Target[paper], skills *copies.Source[leveled]) {
	t.Helper()
	good(skills.Follow(t.Context()))(t)
	for c, err := range papers.Verify(t.Context(), "") {
		if must(t, err); len(c.Differ) > 0 {
			t.Errorf("the copies of %v differ", c.Differ)
		}
	}
	if due := good(skills.Due(t.Context()))(t); due.Count > 0 {
		t.Errorf("%+v is due", due)
	}
}

// Writers of both sides and workers at once: nothing differs in the end.
func TestCopies(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx := t.Context()
		papers, skills := openCopies(t, store, func(_ context.Context, of *leveled) (int64, error) { return of.Level, nil })
		names := []string{"go", "{a}:b/*", "ü"}
		for _, name := range names {
			must(t, skills.Insert(ctx, &leveled{Skill: name}))
		}
		must(t, papers.Insert(ctx, &paper{ID: "p:0", Skill: "go"}))
		patiently := func(call func() error) {
			err := repo.ErrContention
			for errors.Is(err, repo.ErrContention) {
				err = call()
			}
			if err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		for w := range 3 {
			all.Go(func() {
				for n := range 8 {
					patiently(func() error {
						_, err := skills.Update(ctx, repo.Key{names[(w+n)%3]}, func(s *leveled) error { s.Level++; return nil })
						return err
					})
					patiently(func() error {
						return papers.Put(ctx, &paper{ID: fmt.Sprintf("p:%d", n%5), Skill: names[(w+n)%2]})
					})
					patiently(func() error {
						_, err := skills.Follow(ctx)
						return err
					})
				}
			})
		}
		all.Wait()
		must(t, skills.Delete(ctx, repo.Key{names[1]}))
		upToDate(t, papers, skills)
		for n := range 5 {
			p := good(papers.Records().Get(ctx, repo.Key{fmt.Sprintf("p:%d", n)}))(t)
			if got := fmt.Sprint(p.Skill, " ", p.Level); got != "go 8" && got != "{a}:b/* -1" {
				t.Errorf("paper %d has %s", n, got)
			}
		}
	})
}

// A value that follows from many records: the number of votes, each written with the record that they are of.
func TestComputed(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx := t.Context()
		var votes *repo.Repo[skill]
		papers, skills := openCopies(t, store, func(ctx context.Context, of *leveled) (int64, error) {
			n, err := votes.Count(ctx, repo.Where("skill", of.Skill))
			return int64(n), err
		})
		votes = good(repo.Open[skill](ctx, store, repo.Schema{Collection: "votes", With: "skills", Partition: []string{"skill"}, Sort: []string{"level"}}))(t)
		must(t, skills.Insert(ctx, &leveled{Skill: "go"}), papers.Insert(ctx, &paper{ID: "p", Skill: "go"}))
		for n := range 5 {
			g := store.Group()
			votes.In(g).Insert(&skill{"go", fmt.Sprint(n)})
			skills.Records().In(g).Patch(repo.Key{"go"}, repo.Add("level", 1)) // which gives it a version
			skills.Changed(g, repo.Key{"go"})
			must(t, g.Commit(ctx))
		}
		upToDate(t, papers, skills)
		if p := good(papers.Records().Get(ctx, repo.Key{"p"}))(t); p.Level != 5 {
			t.Errorf("the paper has %d votes", p.Level)
		}
	})
}
