package backendtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Held commits the largest group that a store takes, and tells how long the commit took and how
// long another caller waited for a record meanwhile. One that is larger is refused.
func Held(t *testing.T, s driver.Store) {
	t.Helper()
	most := s.Facts().MaxOps
	if most == 0 {
		t.Fatal("the store has no bound")
	}
	type item struct {
		Box  string `repo:"box"`
		N    int64  `repo:"n"`
		Text string `repo:"text"`
	}
	items, err := repo.Open[item](t.Context(), repo.NewStore(s, nil), repo.Schema{Collection: "held", Partition: []string{"box"}, Sort: []string{"n"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := items.Put(t.Context(), &item{Box: "other"}); err != nil {
		t.Fatal(err)
	}
	group := func(n int, text string) error {
		g := items.Store().Group()
		in := items.In(g)
		for i := range n {
			in.Put(&item{"box", int64(i), fmt.Sprint(text, i)})
		}
		return g.Commit(t.Context())
	}
	for _, text := range []string{"first ", "again "} {
		stop, longest := beside(t.Context(), func(ctx context.Context) error { _, err := items.Get(ctx, repo.Key{"other", 0}); return err })
		begun := time.Now()
		err := group(most, text)
		took := time.Since(begun)
		stop()
		if err != nil {
			t.Fatalf("a group of %d: %v", most, err)
		}
		t.Logf("a group of %d took %v; others waited %v at most", most, took.Round(time.Millisecond), (<-longest).Round(time.Millisecond))
	}
	if n, err := items.Count(t.Context(), repo.Where("box", "box")); n != most || err != nil {
		t.Errorf("%d records, %v; want %d", n, err, most)
	}
	if err := group(most+1, "more "); !errors.Is(err, repo.ErrTooLarge) {
		t.Errorf("a group of %d: %v, want ErrTooLarge", most+1, err)
	}
}

// beside calls something again and again until stop is called, and then yields the longest
// time that a call took.
func beside(ctx context.Context, call func(context.Context) error) (stop func(), longest chan time.Duration) {
	done, longest := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		var most time.Duration
		for {
			select {
			case <-done:
				longest <- most
				return
			default:
			}
			begun := time.Now()
			if call(ctx) == nil {
				most = max(most, time.Since(begun))
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return func() { close(done) }, longest
}
