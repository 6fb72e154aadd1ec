package series_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/series"
)

type reading struct {
	At    time.Time `repo:"at"`
	Value float64   `repo:"value"`
	Note  string    `repo:"note,omitempty"`
}

func (r reading) Time() time.Time { return r.At }

func open(t *testing.T, store *repo.Store, schema series.Schema) *series.Collection[reading] {
	t.Helper()
	schema.Collection = "readings"
	c, err := series.Open[reading](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(ms int) time.Time { return time.UnixMilli(int64(ms)).UTC() }

func listed(t *testing.T, c *series.Collection[reading], name string, from, to time.Time) (list []reading) {
	t.Helper()
	for p, err := range c.Range(t.Context(), name, from, to) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// Points that come in any order, by several programs at once, are all there, in the order of their times.
func TestRandomPoints(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	rng := rand.New(rand.NewPCG(1, 2))
	var all []reading
	for n := range 600 {
		all = append(all, reading{At: at(rng.IntN(2000) - 500), Value: float64(n)})
	}
	var writers sync.WaitGroup
	for w := range 4 {
		c := open(t, store, series.Schema{Span: 100 * time.Millisecond, Most: 7})
		writers.Go(func() {
			for n := w; n < len(all); n += 4 {
				if err := c.Append(t.Context(), "s", all[n]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	byTime := func(a, b reading) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Value, b.Value)) }
	slices.SortFunc(all, byTime)
	c := open(t, store, series.Schema{Span: 100 * time.Millisecond, Most: 7})
	for _, ends := range [][2]time.Time{{}, {at(0), at(1000)}, {at(-450), at(-1)}, {at(333), {}}, {{}, at(250)}, {at(5000), {}}, {at(7), at(7)}, {at(50), at(100).Add(1)}, {at(0), at(100)}} {
		var want []reading
		for _, p := range all {
			if !p.At.Before(ends[0]) && (ends[1].IsZero() || p.At.Before(ends[1])) {
				want = append(want, p)
			}
		}
		got := listed(t, c, "s", ends[0], ends[1])
		if !slices.IsSortedFunc(got, func(a, b reading) int { return a.At.Compare(b.At) }) {
			t.Errorf("%v: the points are not in order", ends)
		}
		if slices.SortFunc(got, byTime); !slices.Equal(got, want) {
			t.Errorf("%v: %d points, want %d", ends, len(got), len(want))
		}
	}
	raw, err := repo.SchemaOf(t.Context(), store, "readings")
	if err != nil {
		t.Fatal(err)
	}
	buckets, err := repo.Open[map[string]any](t.Context(), store, raw)
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range buckets.Scan(t.Context(), repo.All()) {
		if points, _ := b["points"].([]any); err != nil || len(points) > 7 {
			t.Errorf("a bucket of %d points, %v; it has at most 7", len(points), err)
		}
	}
	for _, most := range []int{1, 10, 599, 600, 1000} {
		got, err := c.Newest(t.Context(), "s", most)
		if err != nil || len(got) != min(most, len(all)) || got[0].At != all[len(all)-1].At {
			t.Errorf("the newest %d: %d, %v", most, len(got), err)
		}
	}
}

func TestSummaries(t *testing.T) {
	c := open(t, repo.NewStore(memory.New(nil), nil), series.Schema{Span: time.Second})
	for n := range 10 {
		if err := c.Append(t.Context(), "s", reading{At: at(n * 250), Value: float64(n)}, reading{At: at(60_000 + n), Value: -1}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for s, err := range c.Summarize(t.Context(), "s", time.Time{}, time.Time{}, time.Second, func(r reading) float64 { return r.Value }) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(s.Start.UnixMilli(), s.Count, s.Sum, s.Min, s.Max, s.Mean()))
	}
	want := "0 4 6 0 3 1.5; 1000 4 22 4 7 5.5; 2000 2 17 8 9 8.5; 60000 10 -10 -1 -1 -1"
	if strings.Join(got, "; ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// Points vanish with their bucket, by time or by Delete, and come to no other.
func TestOldPoints(t *testing.T) {
	c := open(t, repo.NewStore(memory.New(nil), nil), series.Schema{Span: time.Minute, Keep: time.Hour})
	now := time.Now().UTC().Truncate(time.Millisecond)
	for _, age := range []time.Duration{0, 30 * time.Minute, 2 * time.Hour} {
		if err := c.Append(t.Context(), "s", reading{At: now.Add(-age), Value: age.Minutes()}); err != nil {
			t.Fatal(err)
		}
	}
	if got := listed(t, c, "s", time.Time{}, time.Time{}); len(got) != 2 || got[0].Value != 30 {
		t.Errorf("got %v", got)
	}
	n, err := c.Delete(t.Context(), "s", now.Add(-10*time.Minute))
	if got := listed(t, c, "s", time.Time{}, time.Time{}); n != 1 || err != nil || len(got) != 1 || got[0].Value != 0 {
		t.Errorf("%d removed, %v; got %v", n, err, got)
	}
	if n, err := c.Delete(t.Context(), "s", time.Time{}); n != 1 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
}

// Points that are too many bytes for one record go to several.
func TestLargePoints(t *testing.T) {
	c := open(t, repo.NewStore(memory.New(nil), nil), series.Schema{Span: time.Minute})
	for n := range 5 {
		if err := c.Append(t.Context(), "s", reading{At: at(n), Note: strings.Repeat("x", 400_000)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := listed(t, c, "s", time.Time{}, time.Time{}); len(got) != 5 {
		t.Errorf("%d points", len(got))
	}
	if err := c.Append(t.Context(), "s", reading{At: at(9), Note: strings.Repeat("x", 2_000_000)}); !errors.Is(err, repo.ErrTooLarge) {
		t.Errorf("a point over the size of a record: %v", err)
	}
}

func TestBad(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	for _, s := range []series.Schema{{Collection: "a"}, {Collection: "a", Span: time.Microsecond}, {Collection: "a", Span: time.Second, Most: -1}, {Collection: "a", Span: time.Second, Keep: -1}, {Span: time.Second}} {
		if _, err := series.Open[reading](t.Context(), store, s); !errors.Is(err, repo.ErrSchema) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	c := open(t, store, series.Schema{Span: time.Second})
	if _, err := c.Newest(t.Context(), "s", 0); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("the newest 0: %v", err)
	}
	for _, err := range c.Summarize(t.Context(), "s", time.Time{}, time.Time{}, 0, nil) {
		if !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("summaries of no time: %v", err)
		}
	}
	if err := c.Append(nil, "s", reading{At: at(1)}); !errors.Is(err, repo.ErrInvalid) { //nolint:staticcheck // a nil context is what is tested
		t.Errorf("a nil context: %v", err)
	}
	if err := c.Append(t.Context(), "\xff", reading{At: at(1)}); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("a name that is no text: %v", err)
	}
	if err := c.Append(t.Context(), "s"); err != nil {
		t.Errorf("no points: %v", err)
	}
}

// Where nobody else appends, a point is one patch, and no point is lost where somebody does.
func TestAppendIsAPatch(t *testing.T) {
	var ops []string
	store := repo.NewStore(memory.New(nil), &repo.Options{Tracer: repo.Tracer{Begin: func(ctx context.Context, e repo.Event) (context.Context, func(repo.Event)) {
		ops = append(ops, e.Op)
		return ctx, nil
	}}})
	schema := series.Schema{Span: time.Second, Most: 5}
	mine, other := open(t, store, schema), open(t, store, schema)
	for _, tt := range []struct {
		by   *series.Collection[reading]
		want string
	}{
		{mine, "update insert"}, {mine, "patch"}, {mine, "patch"},
		{other, "update"}, {other, "patch"}, // which fills the first part
		{mine, "patch update update insert"}, {mine, "update"}, {mine, "patch"},
	} {
		ops = nil
		if err := tt.by.Append(t.Context(), "s", reading{At: at(5)}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(ops, " "); got != tt.want {
			t.Errorf("an append took %s, want %s", got, tt.want)
		}
	}
	if got := listed(t, mine, "s", time.Time{}, time.Time{}); len(got) != 8 {
		t.Errorf("%d points, want 8", len(got))
	}
}
