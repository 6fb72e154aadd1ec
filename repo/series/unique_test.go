package series_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/series"
)

// Of the points that several programs append at one time, one is added where they are Unique, however many parts a
// bucket has, and all are without it.
func TestUnique(t *testing.T) {
	for _, unique := range []bool{true, false} {
		store := repo.NewStore(memory.New(nil), nil)
		schema := series.Schema{Span: 100 * time.Millisecond, Most: 7, Unique: unique}
		var programs sync.WaitGroup
		var added, refused atomic.Int64
		const times, writers = 120, 3
		for w := range writers {
			c := open(t, store, schema)
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			programs.Go(func() {
				for _, n := range rng.Perm(times) {
					switch err := c.Append(t.Context(), "s", reading{At: at(2 * n), Value: float64(w)}); {
					case err == nil:
						added.Add(1)
					case errors.Is(err, repo.ErrExists):
						refused.Add(1)
					default:
						t.Error(err)
					}
				}
			})
		}
		programs.Wait()
		got := listed(t, open(t, store, schema), "s", time.Time{}, time.Time{})
		want := times
		if !unique {
			want *= writers
		}
		if len(got) != want || int(added.Load()) != want || int(added.Load()+refused.Load()) != times*writers {
			t.Errorf("unique %v: %d points, %d added, %d refused; want %d", unique, len(got), added.Load(), refused.Load(), want)
		}
	}
}

// Of points with a twin among them or in the series none is added; a point that is late, or comes behind others of its
// program, is as any other one.
func TestUniqueAppends(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	schema := series.Schema{Span: time.Second, Most: 3, Unique: true}
	mine, other := open(t, store, schema), open(t, store, schema)
	for i, tt := range []struct {
		by    *series.Collection[reading]
		times []int
		twin  bool
	}{
		{mine, []int{10, 20}, false},
		{mine, []int{30, 30}, true},
		{mine, []int{30}, false},
		{mine, []int{20}, true}, // in the first part, which is full
		{mine, []int{40}, false},
		{other, []int{50, 40}, true},
		{other, []int{5, 45}, false},
		{mine, []int{45}, true}, // later than all that it knows of
		{mine, []int{7}, false}, // late
		{other, []int{7}, true},
		{mine, []int{990, 1000}, false}, // in two spans
	} {
		var points []reading
		for _, ms := range tt.times {
			points = append(points, reading{At: at(ms).Add(300)})
		}
		err := tt.by.Append(t.Context(), "s", points...)
		if errors.Is(err, repo.ErrExists) != tt.twin || !tt.twin && err != nil {
			t.Errorf("append %d of %v: %v; a twin: %v", i, tt.times, err, tt.twin)
		}
	}
	var got []int64
	for _, r := range listed(t, mine, "s", time.Time{}, time.Time{}) {
		got = append(got, r.At.UnixMilli())
	}
	if want := []int64{5, 7, 10, 20, 30, 40, 45, 990, 1000}; !slices.Equal(got, want) {
		t.Errorf("the times are %v, want %v", got, want)
	}
}

// A Unique bucket that is full by its bytes has no second part, in which nobody would look for twins.
func TestUniqueAndLarge(t *testing.T) {
	c := open(t, repo.NewStore(memory.New(nil), nil), series.Schema{Span: time.Minute, Unique: true})
	var errs []error
	for n := range 3 {
		errs = append(errs, c.Append(t.Context(), "s", reading{At: at(n), Note: strings.Repeat("x", 400_000)}))
	}
	if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], repo.ErrTooLarge) {
		t.Errorf("%v, want the third too large", errs)
	}
}

// Backward has what Range has, the latest first; and All has the points of all series.
func TestBackwardAndAll(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	c := open(t, store, series.Schema{Span: 100 * time.Millisecond, Most: 7})
	rng := rand.New(rand.NewPCG(3, 4))
	for _, ms := range rng.Perm(1500) {
		if err := c.Append(t.Context(), []string{"s", "other"}[ms%2], reading{At: at(ms - 500)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, ends := range [][2]time.Time{{}, {at(0), at(800)}, {at(-450), at(-1)}, {at(333), {}}, {{}, at(250)}, {at(5000), {}}, {at(7), at(7)}, {{}, at(-500)}, {{}, at(100).Add(1)}} {
		want := listed(t, c, "s", ends[0], ends[1])
		slices.Reverse(want)
		got, err := repo.Collect(c.Backward(t.Context(), "s", ends[0], ends[1]))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %d points backward, %d forward, %v", ends, len(got), len(want), err)
		}
	}
	seen := map[string]int{}
	for e, err := range c.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[e.Series]++; (e.Point.At.UnixMilli()+500)%2 != map[string]int64{"s": 0, "other": 1}[e.Series] {
			t.Fatalf("%v is not of %s", e.Point, e.Series)
		}
	}
	if len(seen) != 2 || seen["s"] != 750 || seen["other"] != 750 {
		t.Errorf("All has %v", seen)
	}
}

// An asked store notes how many rows ranges of buckets want.
type asked struct {
	driver.Store
	limits []int
}

func (s *asked) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	if span.Table.Name == "readings" {
		s.limits = append(s.limits, span.Limit)
	}
	return s.Store.Range(ctx, span)
}

// The newest points are asked for by few buckets at first: of a range without a limit a server sends a page.
func TestNewestAsksForFew(t *testing.T) {
	s := &asked{Store: memory.New(nil)}
	c := open(t, repo.NewStore(s, nil), series.Schema{Span: 10 * time.Millisecond})
	for n := range 200 {
		if err := c.Append(t.Context(), "s", reading{At: at(n)}); err != nil {
			t.Fatal(err)
		}
	}
	for most, want := range map[int][]int{1: {1}, 10: {1}, 11: {1, 8}, 90: {1, 8}, 91: {1, 8, 64}, 1000: {1, 8, 64}} {
		s.limits = nil
		if got, err := c.Newest(t.Context(), "s", most); err != nil || len(got) != min(most, 200) || !slices.Equal(s.limits, want) {
			t.Errorf("the newest %d: %d points by ranges of %v, want %v; %v", most, len(got), s.limits, want, err)
		}
	}
	s.limits = nil
	if listed(t, c, "s", at(0), at(200)); !slices.Equal(s.limits, []int{0}) {
		t.Errorf("a range asks by ranges of %v, want one without a limit", s.limits)
	}
}
