package nested_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/nested"
)

// A code is a key field that makes its own text.
type code struct{ text string }

func (c code) MarshalText() ([]byte, error)  { return []byte("<" + c.text + ">"), nil }
func (c *code) UnmarshalText(b []byte) error { c.text = strings.Trim(string(b), "<>"); return nil }

type inner struct {
	Tenant string `repo:"tenant"`
	Owner  string // a name that Terms must leave free
}

type event struct {
	inner
	nested.Terms
	Shard uint16
	Yes   bool
	At    time.Time
	Code  code
	Items []*item
}

type item struct {
	kinds
	N *int64
}

type kinds struct {
	Color color
	Flag  *bool
	Mood  code // makes its own text, so it has no terms
}

type color string

// Keys have several fields of all kinds, and hostile texts; sub-objects lie behind pointers and have embedded structs.
func TestKeys(t *testing.T) {
	for name, way := range ways {
		for _, url := range []string{"memory:", "pebble:"} {
			t.Run(url+name, func(t *testing.T) {
				t.Parallel()
				schema := way
				schema.Records = repo.Schema{Collection: "events", Partition: []string{"tenant", "shard", "yes"}, Sort: []string{"-at", "code"}}
				schema.List = "items"
				c := open[event](t, newStore(t, url), schema)
				n, yes := int64(-5), true
				at := time.Date(1969, 1, 2, 3, 4, 5, 678e6, time.UTC)
				wanted := 0
				for _, tenant := range []string{"a", "/", "~", "~1", "a/sb", "\x00", "é", "~0/~1"} {
					for shard := range uint16(2) {
						e := event{inner: inner{tenant, "me"}, Shard: shard * 65535, Yes: shard == 0, At: at.Add(time.Duration(shard) * time.Hour), Code: code{tenant},
							Items: []*item{{}, {kinds{Color: "red", Flag: &yes}, &n}}}
						if err := c.Insert(t.Context(), &e); err != nil {
							t.Fatal(err)
						}
						wanted++
					}
				}
				for _, q := range []nested.Query{nested.Where("color", color("red")).Where("n", -5), nested.Where("flag", true).Where("n", int32(-5)).Where("color", "red")} {
					found, err := repo.Collect(c.Find(t.Context(), q))
					if err != nil || len(found) != wanted {
						t.Errorf("%s: %d records, %v", q, len(found), err)
					}
				}
				if found, err := repo.Collect(c.Find(t.Context(), nested.Where("color", "").Where("n", -5))); len(found) > 0 || err != nil {
					t.Error(found, err)
				}
				if _, err := c.Explain(nested.Where("mood", "x")); !isA(err, repo.ErrInvalid) {
					t.Error(err)
				}
				for key, err := range c.Verify(t.Context()) {
					t.Error(key, err)
				}
			})
		}
	}
}

// The order of Find and of pages is the same, and ties of all values are no matter.
func TestOrder(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		for _, id := range []string{"b", "a", "aa", "B", "10", "9", "é"} {
			insert(t, c, person{ID: id, Skills: bob.Skills})
		}
		found := ids(t, c, poets)
		if !slices.IsSorted(found) || len(found) != 7 {
			t.Error(found)
		}
		first, err := c.Page(t.Context(), poets.Limit(3), "")
		if err != nil {
			t.Fatal(err)
		}
		insert(t, c, person{ID: "0", Skills: bob.Skills}, person{ID: "aaa", Skills: bob.Skills})
		if err := c.Delete(t.Context(), repo.Key{first.Items[2].ID}); err != nil {
			t.Fatal(err)
		}
		rest, err := c.Page(t.Context(), poets, first.Next)
		if got := idsOf(rest.Items); err != nil || !slices.Equal(got, []string{"a", "aa", "aaa", "b", "é"}) {
			t.Error(got, err)
		}
		none, err := c.Page(t.Context(), nested.Where("skill", "none"), "")
		if none.Items == nil || len(none.Items) > 0 || none.Next != "" || err != nil {
			t.Error(none, err)
		}
	})
}

// Expired records are not found.
func TestExpired(t *testing.T) {
	type visit struct {
		ID string
		nested.Terms
		Until time.Time `repo:",expires"`
		Items []item
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			way.Records, way.List = repo.Schema{Collection: "visits", Partition: []string{"id"}}, "items"
			c := open[visit](t, newStore(t, "memory:"), way)
			for id, until := range map[string]time.Time{"past": time.Now().Add(-time.Hour), "later": time.Now().Add(time.Hour), "never": {}} {
				if err := c.Put(t.Context(), &visit{ID: id, Until: until, Items: []item{{kinds: kinds{Color: "red"}}}}); err != nil {
					t.Fatal(err)
				}
			}
			found, err := repo.Collect(c.Find(t.Context(), nested.Where("color", "red")))
			if err != nil || len(found) != 2 || found[0].ID != "later" {
				t.Error(found, err)
			}
		})
	}
}
