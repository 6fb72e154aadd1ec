package nested_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/nested"
)

type skill struct {
	Skill     string
	Level     string `repo:"level,omitempty"`
	Years     *int
	Certified bool
	Note      []byte // has no terms
}

type person struct {
	ID string
	nested.Terms
	Version repo.Version `repo:",version"`
	Name    string
	Skills  []skill
}

var people = repo.Schema{Collection: "people", Partition: []string{"id"}}

// ways are the schemas that all tests of answers use.
var ways = map[string]nested.Schema{
	"proximity": {Records: people, List: "skills"},
	"numbered":  {Records: people, List: "skills", Strategy: nested.Numbered, Numbers: 8},
}

// stores are those that tests of answers use; two are memory that says of itself what other stores say.
var stores = []string{"memory:", "remote:", "native:"}

func newStore(t testing.TB, url string) *repo.Store {
	t.Helper()
	partition, record := driver.ScopePartition, driver.ScopeRecord
	switch url {
	case "remote:": // as Cassandra and a cluster of Redis: the index lies outside the commit of the record
		return repo.NewStore(memory.New(&memory.Options{Scope: &partition, Uncertain: true}), nil)
	case "native:": // as MongoDB on one server: the store keeps the index
		return repo.NewStore(memory.New(&memory.Options{Scope: &record, Uncertain: true, Native: true}), nil)
	}
	if url == "pebble:" {
		backend, err := pebble.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		store := repo.NewStore(backend, nil)
		t.Cleanup(func() { _ = store.Close() })
		return store
	}
	return repo.NewStore(memory.New(nil), nil)
}

func open[T any](t testing.TB, store *repo.Store, s nested.Schema) *nested.Collection[T] {
	t.Helper()
	c, err := nested.Open[T](t.Context(), store, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inBoth runs a test for each strategy on each of the stores.
func inBoth(t *testing.T, test func(t *testing.T, c *nested.Collection[person])) {
	t.Helper()
	for name, s := range ways {
		for _, url := range stores {
			t.Run(url+name, func(t *testing.T) {
				t.Parallel()
				test(t, open[person](t, newStore(t, url), s))
			})
		}
	}
}

func insert(t testing.TB, c *nested.Collection[person], list ...person) {
	t.Helper()
	for i := range list {
		if err := c.Insert(t.Context(), &list[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// ids returns the keys of what a query finds.
func ids(t testing.TB, c *nested.Collection[person], q nested.Query) []string {
	t.Helper()
	found, err := repo.Collect(c.Find(t.Context(), q))
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return idsOf(found)
}

func idsOf(list []person) []string {
	out := []string{}
	for _, p := range list {
		out = append(out, p.ID)
	}
	return out
}

func want(t testing.TB, c *nested.Collection[person], q nested.Query, ids_ ...string) {
	t.Helper()
	if got := ids(t, c, q); !slices.Equal(got, ids_) {
		t.Errorf("%s: got %v, want %v", q, got, ids_)
	}
}

var (
	ann = person{ID: "ann", Skills: []skill{{Skill: "Math", Level: "excellent"}, {Skill: "Poetry", Level: "poor"}}}
	bob = person{ID: "bob", Skills: []skill{{Skill: "Poetry", Level: "excellent"}}}
)

func TestOneSubObject(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		insert(t, c, ann, bob, person{ID: "none"})
		want(t, c, nested.Where("skill", "Poetry"), "ann", "bob")
		want(t, c, nested.Where("skill", "Poetry").Where("level", "excellent"), "bob")
		want(t, c, nested.Where("skill", "Poetry").Where("level", "excellent").Near(1), "ann", "bob")
		want(t, c, nested.Where("skill", "Poetry").Where("level", "poor").Where("certified", false), "ann")
		want(t, c, nested.Where("skill", "Poetry").Where("certified", true))
		want(t, c, nested.Where("skill", "Poetry").Where("skill", "Math"))
		want(t, c, nested.Where("skill", "Poetry").Where("skill", "Math").Near(1), "ann")
		want(t, c, nested.Where("skill", "Poetry").Limit(1), "ann")
		if err := c.Delete(t.Context(), repo.Key{"bob"}); err != nil {
			t.Fatal(err)
		}
		want(t, c, nested.Where("skill", "Poetry").Where("level", "excellent"))
	})
}

// Terms without positions give the false match that this package is for.
func TestWithoutPositions(t *testing.T) {
	type flat struct {
		ID    string
		Terms []string
	}
	r, err := repo.Open[flat](t.Context(), newStore(t, "memory:"), repo.Schema{
		Collection: "flat", Partition: []string{"id"}, Indexes: []repo.Index{{Name: "terms", Partition: []string{"terms[]"}}}})
	if err != nil {
		t.Fatal(err)
	}
	rec := flat{ID: "ann", Terms: []string{"skill=Math", "level=excellent", "skill=Poetry", "level=poor"}}
	if err := r.Insert(t.Context(), &rec); err != nil {
		t.Fatal(err)
	}
	for _, term := range []string{"skill=Poetry", "level=excellent"} {
		if n, err := r.Count(t.Context(), repo.Where("terms[]", term)); n != 1 || err != nil {
			t.Errorf("%s: %d records, %v: the false match is not there", term, n, err)
		}
	}
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		insert(t, c, ann)
		want(t, c, nested.Where("skill", "Poetry").Where("level", "excellent"))
	})
}

func TestAbsentEmptyAndTwice(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		three := 3
		twin := skill{Skill: "Go", Level: "good", Years: &three}
		insert(t, c,
			person{ID: "empty", Skills: []skill{{}}},
			person{ID: "no list"},
			person{ID: "twins", Skills: []skill{twin, twin, {Skill: "Go", Level: "poor"}}},
		)
		want(t, c, nested.Where("skill", ""), "empty")
		want(t, c, nested.Where("level", "")) // left out where it is empty
		want(t, c, nested.Where("years", 0))
		want(t, c, nested.Where("certified", false), "empty", "twins")
		want(t, c, nested.Where("skill", "Go"), "twins")
		want(t, c, nested.Where("skill", "Go").Where("years", int8(3)), "twins")
		want(t, c, nested.Where("level", "poor").Where("years", uint(3)))
		want(t, c, nested.Where("level", "poor").Where("years", 3).Near(1), "twins")
		want(t, c, nested.Where("level", "poor").Where("level", "poor"), "twins")
	})
}

// scan is what a query means.
func scan(list map[string]person, conds []cond, near int) []string {
	out := []string{}
	for id, p := range list {
		for low := range p.Skills {
			met := true
			for _, c := range conds {
				met = met && slices.ContainsFunc(p.Skills[low:min(low+near+1, len(p.Skills))], c.met)
			}
			if met {
				out = append(out, id)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

type cond struct {
	field string
	value any
	met   func(skill) bool
}

var words = []string{"", "a", "b", "a=b", "skill=a", "1", ".1", "a.1=b", "#", "~", "a\x00", "\x00", "é", "true"}

func randomSkill(rng *rand.Rand, n int) skill {
	s := skill{Skill: words[rng.IntN(n)], Level: words[rng.IntN(n)], Certified: rng.IntN(2) == 0}
	if rng.IntN(3) > 0 {
		years := rng.IntN(3)
		s.Years = &years
	}
	return s
}

func randomSkills(rng *rand.Rand, n, most int) []skill {
	var list []skill
	for range rng.IntN(most + 1) {
		list = append(list, randomSkill(rng, n))
	}
	return list
}

func randomConds(rng *rand.Rand, n int) (list []cond, q nested.Query) {
	for range 1 + rng.IntN(3) {
		word, years, yes := words[rng.IntN(n)], rng.IntN(3), rng.IntN(2) == 0
		list = append(list, []cond{
			{"skill", word, func(s skill) bool { return s.Skill == word }},
			{"level", word, func(s skill) bool { return word != "" && s.Level == word }},
			{"years", years, func(s skill) bool { return s.Years != nil && *s.Years == years }},
			{"certified", yes, func(s skill) bool { return s.Certified == yes }},
		}[rng.IntN(4)])
	}
	for _, c := range list {
		q = q.Where(c.field, c.value)
	}
	return list, q
}

// Random writes and queries agree with a scan, whatever the strategy and the store.
func TestRandom(t *testing.T) {
	for url, seeds := range map[string]int{"memory:": 10, "remote:": 4, "native:": 4, "pebble:": 2} {
		for name, s := range ways {
			t.Run(url+name, func(t *testing.T) {
				t.Parallel()
				store := newStore(t, url)
				for seed := range seeds {
					s.Records.Collection = fmt.Sprintf("people_%d", seed)
					random(t, open[person](t, store, s), uint64(seed))
				}
			})
		}
	}
}

func random(t *testing.T, c *nested.Collection[person], seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	list, n := map[string]person{}, 2+rng.IntN(len(words)-2)
	for range 60 {
		if err := randomWrite(t.Context(), c, rng, list, n); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for range 40 {
		conds, q := randomConds(rng, n)
		near := rng.IntN(3)
		wanted := scan(list, conds, near)
		if diff := cmp.Diff(wanted, ids(t, c, q.Near(near))); diff != "" {
			t.Errorf("seed %d: %s: %s", seed, q.Near(near), diff)
		}
		if got := pages(t, c, q.Near(near).Limit(1+rng.IntN(4))); !slices.Equal(got, wanted) {
			t.Errorf("seed %d: pages of %s: got %v, want %v", seed, q.Near(near), got, wanted)
		}
	}
	for key, err := range c.Verify(t.Context()) {
		t.Errorf("seed %d: %v is stale: %v", seed, key, err)
	}
	sound(t, c)
}

// randomWrite changes one of 25 records, in the collection and in the list.
func randomWrite(ctx context.Context, c *nested.Collection[person], rng *rand.Rand, list map[string]person, n int) error {
	id := fmt.Sprintf("p%02d", rng.IntN(25))
	p := person{ID: id, Skills: randomSkills(rng, n, 8)}
	_, there := list[id]
	switch op := rng.IntN(5); {
	case op == 0:
		delete(list, id)
		return c.Delete(ctx, repo.Key{id})
	case op == 1 && there:
		list[id] = p
		_, err := c.Update(ctx, repo.Key{id}, func(old *person) error { old.Skills = p.Skills; return nil })
		return err
	case op == 2 && there:
		list[id] = p
		return c.Replace(ctx, &p)
	case op == 3 && !there:
		list[id] = p
		return c.Insert(ctx, &p)
	default:
		list[id] = p
		return c.Put(ctx, &p)
	}
}

func pages(t testing.TB, c *nested.Collection[person], q nested.Query) []string {
	t.Helper()
	out, cursor := []string{}, ""
	for {
		page, err := c.Page(t.Context(), q, cursor)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, idsOf(page.Items)...)
		if cursor = page.Next; cursor == "" {
			return out
		}
	}
}

// sound fails the test unless the index agrees with the records.
func sound(t testing.TB, c *nested.Collection[person]) {
	t.Helper()
	reports, err := c.Repo().Verify(t.Context())
	for _, r := range reports {
		if !r.Clean() {
			err = errors.Join(err, fmt.Errorf("index %s: %+v", r.Index, r))
		}
	}
	if err != nil {
		t.Error(err)
	}
}
