package repo_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
)

type stamp time.Time

type hidden struct{ X string }

type Left struct{ Side string }

type Right struct{ Side string }

// A type of which nothing, or a part only, would be stored is refused.
func TestTypesThatLoseFields(t *testing.T) {
	type opaque struct {
		ID string `repo:"id"`
		At stamp
	}
	type pointer struct {
		ID string `repo:"id"`
		*hidden
	}
	type both struct {
		ID string `repo:"id"`
		Left
		Right
	}
	type versions struct {
		ID string       `repo:"id"`
		A  repo.Version `repo:",version"`
		B  repo.Version `repo:",version"`
	}
	facts, schema := newStore(t, nil).Facts(), repo.Schema{Collection: "things", Partition: []string{"id"}}
	for want, err := range map[string]error{
		"stamp has no exported field":                 repo.Check[opaque](facts, schema),
		"a pointer to a type that is not exported":    repo.Check[pointer](facts, schema),
		"field Side is in another embedded struct":    repo.Check[both](facts, schema),
		`field B: it and field A are both named ",ve`: repo.Check[versions](facts, schema),
	} {
		if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("Check = %v, want ErrSchema with %q", err, want)
		}
	}
}

// Types whose methods for text are those of the pointer, and embedded types that
// make one value, are stored like others.
func TestTextOfPointers(t *testing.T) {
	type record struct {
		ID    string   `repo:"id"`
		Sum   big.Int  `repo:"sum"`
		Other *big.Int `repo:"other"`
		List  []big.Int
		time.Time
	}
	r, err := repo.Open[record](t.Context(), newStore(t, nil), repo.Schema{Collection: "sums", Partition: []string{"sum"}, Sort: []string{"time", "id"}})
	if err != nil {
		t.Fatal(err)
	}
	five, now := *big.NewInt(5), time.Now().Truncate(time.Millisecond)
	if err := r.Insert(t.Context(), &record{ID: "a", Sum: five, Other: &five, List: []big.Int{five}, Time: now}); err != nil {
		t.Fatal(err)
	}
	for _, sum := range []any{five, &five, "5"} {
		got, err := r.Get(t.Context(), repo.Key{sum, now, "a"})
		if err != nil || got.Sum.Cmp(&five) != 0 || got.Other.Cmp(&five) != 0 || len(got.List) != 1 || got.List[0].Cmp(&five) != 0 || !got.Time.Equal(now) {
			t.Errorf("Get(%T) = %+v, %v", sum, got, err)
		}
	}
}

// A time that milliseconds or nanoseconds cannot hold is refused and never becomes
// another one; one that only says when a record expires is as good as the last.
func TestTimesFarOff(t *testing.T) {
	type event struct {
		ID   string         `repo:"id"`
		At   time.Time      `repo:"at"`
		Next *time.Time     `repo:"next"`
		Nano time.Time      `repo:"nano,nanos"`
		More map[string]any `repo:"more"`
		Ends time.Time      `repo:",expires"`
	}
	r, err := repo.Open[event](t.Context(), newStore(t, nil), repo.Schema{Collection: "events", Partition: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"nano"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, seconds := range []int64{math.MaxInt64, math.MaxInt64 / 1000, math.MinInt64 / 1000, math.MinInt64 / 2} {
		far := time.Unix(seconds, 0)
		for i, e := range []event{{At: far}, {Next: &far}, {Nano: far}, {More: map[string]any{"at": far}}} {
			if err := r.Put(t.Context(), &e); !errors.Is(err, repo.ErrInvalid) {
				t.Errorf("event %d at Unix second %d: %v, want ErrInvalid", i, seconds, err)
			}
		}
		if err := r.Put(t.Context(), &event{ID: "ends", Ends: far}); err != nil {
			t.Error(err)
		}
		if found, err := r.Exists(t.Context(), repo.Key{"ends"}); found != (seconds > 0) || err != nil {
			t.Errorf("a record that expires at Unix second %d: there is %v, %v", seconds, found, err)
		}
	}
	now := time.Now()
	if err := r.Insert(t.Context(), &event{ID: "now", Nano: now}); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Count(t.Context(), repo.Where("nano", &now)); n != 1 || err != nil {
		t.Errorf("found by a pointer to a time: %d, %v; want 1", n, err)
	}
}
