package crash_test

import (
	"context"
	"iter"

	"github.com/polystore/polystore/repo"
)

// A member is found by its team, within its home or anywhere, and has its mail alone.
type member struct {
	Home string `repo:"home"`
	ID   string `repo:"id"`
	Team string `repo:"team"`
	Mail string `repo:"mail"`
	Note string `repo:"note"`
}

// newMember returns a member with values that no other point has, and that can be found in
// whatever bytes a store keeps: they end with a dot.
func newMember(home, id, team, mail, note string) member {
	return member{home, id, "T-" + home + "-" + team + ".", "M-" + home + "-" + mail + ".", "N-" + home + "-" + note + "."}
}

// A badge lies with the member that has it.
type badge struct {
	Home string `repo:"home"`
	ID   string `repo:"id"`
}

// A house is the members, and their badges.
type house struct {
	*repo.Repo[member]
	badges *repo.Repo[badge]
}

// badgesOf returns the name of the badges of a collection of members. It does not begin with that.
func badgesOf(collection string) string { return "badges_" + collection }

// houseOf opens the badges of members.
func houseOf(ctx context.Context, r *repo.Repo[member], collection string, opts ...repo.OpenOption) (house, error) {
	schema := repo.Schema{Collection: badgesOf(collection), With: collection, Partition: []string{"home"}, Sort: []string{"id"}}
	badges, err := repo.Open[badge](ctx, r.Store(), schema, opts...)
	return house{r, badges}, err
}

func schemaOf(collection, kind string) repo.Schema {
	return repo.Schema{Collection: collection, Partition: []string{"home"}, Sort: []string{"id"}, Indexes: []repo.Index{
		{Name: "teams", Partition: []string{"team"}, Kind: kind},
		{Name: "near", Partition: []string{"home"}, Sort: []string{"team"}, Kind: kind},
		{Name: "mails", Partition: []string{"mail"}, Unique: true, Kind: kind},
	}}
}

// A state is the members of a point by their ids.
type state map[string]member

func stateOf(members ...member) state {
	s := state{}
	for _, m := range members {
		s[m.ID] = m
	}
	return s
}

// A path is a write. It goes through states: the first is from before it, the last from
// after it, and a crash leaves one of them. Those of a bulk come in any order: its commits
// are under way at the same time, each of another home.
type path struct {
	name   string
	states func(home string) []state
	do     func(ctx context.Context, r house, home string) error
}

const (
	bulk = "bulk"
	pair = "pair" // a group of two collections: the member has a badge from then on
)

func paths() []path {
	first := func(home string) member { return newMember(home, "a", "red", "x", "1") }
	second := func(home string) member { return newMember(home, "b", "red", "w", "1") }
	moved := func(home string) member { return newMember(home, "a", "blue", "x", "2") }
	other := func(home string) member { return newMember(home, "a", "red", "y", "2") }
	third := func(home string) member { return newMember(home, "c", "blue", "z", "1") }
	update := func(to func(string) member) func(context.Context, house, string) error {
		return func(ctx context.Context, r house, home string) error {
			_, err := r.Update(ctx, repo.Key{home, "a"}, func(m *member) error { *m = to(home); return nil })
			return err
		}
	}
	return []path{
		{"insert", func(h string) []state { return []state{{}, stateOf(first(h))} }, func(ctx context.Context, r house, h string) error {
			m := first(h)
			return r.Insert(ctx, &m)
		}},
		{"move", func(h string) []state { return []state{stateOf(first(h)), stateOf(moved(h))} }, update(moved)},
		{"patch", func(h string) []state { return []state{stateOf(first(h)), stateOf(moved(h))} }, func(ctx context.Context, r house, h string) error {
			m := moved(h)
			_, err := r.Patch(ctx, repo.Key{h, "a"}, repo.Set("team", m.Team), repo.Set("note", m.Note))
			return err
		}},
		{"mail", func(h string) []state { return []state{stateOf(first(h)), stateOf(other(h))} }, update(other)},
		{"delete", func(h string) []state { return []state{stateOf(first(h)), {}} }, func(ctx context.Context, r house, h string) error {
			return r.Delete(ctx, repo.Key{h, "a"})
		}},
		{"group", func(h string) []state {
			return []state{stateOf(first(h), second(h)), stateOf(other(h), third(h))}
		}, func(ctx context.Context, r house, h string) error {
			a, c := other(h), third(h)
			g := r.Store().Group()
			in := r.In(g)
			in.Put(&a)
			in.Insert(&c)
			in.Delete(repo.Key{h, "b"})
			return g.Commit(ctx)
		}},
		{pair, func(h string) []state { return []state{stateOf(first(h)), stateOf(other(h))} }, func(ctx context.Context, r house, h string) error {
			a := other(h)
			g := r.Store().Group()
			r.badges.In(g).Insert(&badge{h, "a"})
			r.In(g).Put(&a)
			return g.Commit(ctx)
		}},
		{bulk, func(h string) []state {
			return []state{{}, stateOf(first(h), second(h)), stateOf(stranger(h)), stateOf(first(h), second(h), stranger(h))}
		}, func(ctx context.Context, r house, h string) error {
			_, err := r.InsertAll(ctx, list(first(h), second(h), stranger(h)))
			return err
		}},
	}
}

// stranger returns a member of another home, whose record no commit has together with the
// others where that changes one partition.
func stranger(home string) member {
	m := newMember(home, "d", "blue", "v", "1")
	m.Home += "z"
	return m
}

func list(members ...member) iter.Seq2[member, error] {
	return func(yield func(member, error) bool) {
		for _, m := range members {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// values returns all that members of a point can have, of one of their fields.
func (p *path) values(home string, of func(member) string) map[string]bool {
	all := map[string]bool{}
	for _, s := range p.states(home) {
		for _, m := range s {
			all[of(m)] = true
		}
	}
	return all
}
