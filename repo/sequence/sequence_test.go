package sequence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/sequence"
)

// stores are memory, Pebble, and memory that says of itself what other stores say.
var stores = []string{"memory", "pebble", "partition", "record"}

func newBackend(t testing.TB, name string) driver.Store {
	t.Helper()
	partition, record := driver.ScopePartition, driver.ScopeRecord
	var s driver.Store
	var err error
	switch name {
	case "memory":
		s = memory.New(nil)
	case "pebble":
		s, err = pebble.Open(t.TempDir(), nil)
	case "partition": // as Cassandra and a cluster of Redis
		s = memory.New(&memory.Options{Scope: &partition, Uncertain: true})
	case "record":
		s = memory.New(&memory.Options{Scope: &record, Uncertain: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func onStores(t *testing.T, test func(t *testing.T, backend driver.Store)) {
	for _, name := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newBackend(t, name))
		})
	}
}

// of returns a sequence as another program would have it.
func of(t testing.TB, backend driver.Store, opts *sequence.Options) *sequence.Sequence {
	t.Helper()
	c, err := sequence.Open(t.Context(), repo.NewStore(backend, nil), "numbers")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Sequence("test", opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func block(n int) *sequence.Options { return &sequence.Options{Block: n} }

func want(t testing.TB, s *sequence.Sequence, numbers ...int64) {
	t.Helper()
	for _, n := range numbers {
		if got, err := s.Next(t.Context()); err != nil || got != n {
			t.Errorf("Next() = %d, %v, want %d", got, err, n)
		}
	}
}

func wantPeek(t testing.TB, s *sequence.Sequence, n int64) {
	t.Helper()
	if got, err := s.Peek(t.Context()); err != nil || got != n {
		t.Errorf("Peek() = %d, %v, want %d", got, err, n)
	}
}

func isKind(t testing.TB, err, kind error) {
	t.Helper()
	if _, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, kind) {
		t.Errorf("got %v, want %v in a *repo.Error", err, kind)
	}
}

// Programs with different blocks share a sequence; what a program has in hand when it ends is skipped.
func TestBlocks(t *testing.T) {
	onStores(t, func(t *testing.T, backend driver.Store) {
		one, ten := of(t, backend, nil), of(t, backend, block(10))
		wantPeek(t, one, 1)
		want(t, one, 1)
		want(t, ten, 2, 3)
		want(t, one, 12, 13)
		want(t, ten, 4, 5, 6, 7, 8, 9, 10, 11, 14)
		wantPeek(t, ten, 24)
		want(t, of(t, backend, block(5)), 24, 25) // 15 to 23 are in hand, and lost when the program ends
		want(t, one, 29)
	})
}

// A given is a number with the time of its call, by a clock that only orders.
type given struct{ begun, n, ended int64 }

// draw calls Next of each sequence from several goroutines.
func draw(t *testing.T, workers, each int, list ...*sequence.Sequence) (all [][]given) {
	t.Helper()
	var clock atomic.Int64
	var wait sync.WaitGroup
	all = make([][]given, len(list)*workers)
	for i := range all {
		wait.Go(func() {
			for range each {
				g := given{begun: clock.Add(1)}
				var err error
				if g.n, err = list[i%len(list)].Next(t.Context()); errors.Is(err, repo.ErrContention) {
					continue
				} else if err != nil {
					t.Error(err)
					return
				}
				g.ended = clock.Add(1)
				all[i] = append(all[i], g)
			}
		})
	}
	wait.Wait()
	return all
}

// faults returns what a sequence promises and the numbers break. In order says that all of them are ordered.
func faults(all [][]given, inOrder bool) (bad []string) {
	seen := map[int64]bool{}
	for _, list := range all {
		for i, g := range list {
			if seen[g.n] {
				bad = append(bad, fmt.Sprintf("%d comes twice", g.n))
			}
			if seen[g.n] = true; i > 0 && g.n < list[i-1].n {
				bad = append(bad, fmt.Sprintf("%d comes after %d", g.n, list[i-1].n))
			}
		}
	}
	if flat := slices.Concat(all...); inOrder {
		slices.SortFunc(flat, func(a, b given) int { return int(a.n - b.n) })
		latest := int64(0) // begin of the calls before
		for _, g := range flat {
			if g.ended < latest {
				bad = append(bad, fmt.Sprintf("%d was given before a smaller number was asked for", g.n))
			}
			latest = max(latest, g.begun)
		}
	}
	return bad
}

func TestUniqueAndOrdered(t *testing.T) {
	onStores(t, func(t *testing.T, backend driver.Store) {
		for _, size := range []int{1, 2, 7, 100} {
			list := []*sequence.Sequence{of(t, backend, block(size)), of(t, backend, block(size)), of(t, backend, block(size))}
			for _, bad := range faults(draw(t, 4, 25, list...), size == 1) {
				t.Errorf("block %d: %s", size, bad)
			}
		}
	})
}

// Nothing is skipped as long as nobody leaves: one program with blocks, several without.
func TestNoGapsWithoutNeed(t *testing.T) {
	for sequences, size := range map[int]int{1: 10, 3: 1} {
		backend := newBackend(t, "memory")
		var list []*sequence.Sequence
		for range sequences {
			list = append(list, of(t, backend, block(size)))
		}
		all := slices.Concat(draw(t, 2, 20, list...)...)
		slices.SortFunc(all, func(a, b given) int { return int(a.n - b.n) })
		if last := all[len(all)-1]; last.n != int64(len(all)) {
			t.Errorf("%d numbers up to %d", len(all), last.n)
		}
	}
}

// The checks above notice numbers that come twice, or in no order.
func TestFaultsAreNoticed(t *testing.T) {
	backend := newBackend(t, "memory")
	s := of(t, backend, nil)
	first := draw(t, 1, 5, s)
	if err := s.Reuse(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if bad := faults(append(first, draw(t, 1, 5, s)...), false); len(bad) == 0 {
		t.Error("numbers that come twice are not noticed")
	}
	if bad := faults([][]given{{{1, 5, 2}}, {{3, 4, 4}}}, true); len(bad) == 0 {
		t.Error("numbers in no order are not noticed")
	}
	if bad := faults([][]given{{{1, 5, 4}}, {{3, 4, 5}}}, true); len(bad) > 0 {
		t.Error("calls at the same time have no order:", bad)
	}
}

func TestAdvanceAndReuse(t *testing.T) {
	onStores(t, func(t *testing.T, backend driver.Store) {
		ctx := t.Context()
		s, other := of(t, backend, &sequence.Options{Block: 10, First: 50}), of(t, backend, nil)
		isKind(t, s.Advance(ctx, 49), repo.ErrInvalid)
		if err := s.Advance(ctx, 60); err != nil {
			t.Error(err)
		}
		want(t, s, 60, 61)
		isKind(t, s.Advance(ctx, 69), repo.ErrInvalid)
		if err := s.Advance(ctx, 70); err != nil {
			t.Error(err)
		}
		want(t, s, 70)
		if err := other.Advance(ctx, 100); err != nil {
			t.Error(err)
		}
		want(t, s, 71) // in hand
		want(t, other, 100)
		if err := s.Reuse(ctx, 0); err != nil {
			t.Error(err)
		}
		want(t, s, 0, 1)
		if err := s.Reuse(ctx, -5); err != nil {
			t.Error(err)
		}
		want(t, other, -5, -4)
		if err := of(t, backend, nil).Reuse(ctx, 1000); err != nil {
			t.Error(err)
		}
		want(t, other, 1000)
	})
}

func TestExhausted(t *testing.T) {
	onStores(t, func(t *testing.T, backend driver.Store) {
		s := of(t, backend, &sequence.Options{Block: 100, First: sequence.Greatest - 6})
		want(t, s, sequence.Greatest-6)
		if err := s.Advance(t.Context(), sequence.Greatest-2); err == nil {
			t.Error("the block goes beyond the end")
		}
		all := slices.Concat(draw(t, 6, 1, s)...)
		if len(all) != 6 {
			t.Errorf("got %v, want six numbers", all)
		}
		for range 2 {
			_, err := s.Next(t.Context())
			isKind(t, err, sequence.ErrExhausted)
			isKind(t, err, repo.ErrInvalid)
		}
		wantPeek(t, s, sequence.Greatest+1)
		isKind(t, s.Advance(t.Context(), 1), repo.ErrInvalid)
	})
}

func TestBadInput(t *testing.T) {
	ctx := t.Context()
	store := repo.NewStore(newBackend(t, "memory"), nil)
	c, err := sequence.Open(ctx, store, "numbers")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a/b", "a:b", "a b", "a\n", "\x00", "\xff", "a\u200b", strings.Repeat("x", 257)} {
		_, err := c.Sequence(name, nil)
		isKind(t, err, repo.ErrInvalid)
	}
	for _, opts := range []sequence.Options{{Block: -1}, {Block: 1_000_001}, {First: sequence.Greatest + 1}} {
		_, err := c.Sequence("test", &opts)
		isKind(t, err, repo.ErrInvalid)
	}
	for _, name := range []string{"a", "Rechnung.2026", "é_1-2", strings.Repeat("x", 256)} {
		if _, err := c.Sequence(name, nil); err != nil {
			t.Error(err)
		}
	}
	_, err = (*sequence.Collection)(nil).Sequence("a", nil)
	isKind(t, err, repo.ErrInvalid)
	var none *sequence.Sequence
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, call := range []func(*sequence.Sequence, context.Context) error{
		func(s *sequence.Sequence, ctx context.Context) error { _, err := s.Next(ctx); return err },
		func(s *sequence.Sequence, ctx context.Context) error { _, err := s.Peek(ctx); return err },
		func(s *sequence.Sequence, ctx context.Context) error { return s.Advance(ctx, 9) },
		func(s *sequence.Sequence, ctx context.Context) error { return s.Reuse(ctx, 9) },
	} {
		isKind(t, call(none, ctx), repo.ErrInvalid)
		isKind(t, call(&sequence.Sequence{}, ctx), repo.ErrInvalid)
		s := of(t, store.Driver(), nil)
		isKind(t, call(s, nil), repo.ErrInvalid)
		isKind(t, call(s, ended), repo.ErrTimeout)
	}
}

// Records of other programs are refused, and left as they are.
func TestForeignRecords(t *testing.T) {
	onStores(t, func(t *testing.T, backend driver.Store) {
		type other struct {
			Name  string `repo:"name"`
			Color string `repo:"color"`
		}
		ctx, store := t.Context(), repo.NewStore(backend, nil)
		for _, schema := range []repo.Schema{
			{Collection: "numbers", Partition: []string{"name"}},
			{Collection: "colors", Partition: []string{"name"}, Sort: []string{"color"}},
		} {
			r, err := repo.Open[other](ctx, store, schema)
			if err == nil {
				err = r.Insert(ctx, &other{"test", "red"})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s := of(t, backend, nil)
		_, err := s.Next(ctx)
		isKind(t, err, repo.ErrCorrupt)
		_, err = s.Peek(ctx)
		isKind(t, err, repo.ErrCorrupt)
		isKind(t, s.Advance(ctx, 5), repo.ErrCorrupt)
		isKind(t, s.Reuse(ctx, 5), repo.ErrCorrupt)
		_, err = sequence.Open(ctx, store, "colors")
		isKind(t, err, repo.ErrSchema)
	})
}

func TestRedacted(t *testing.T) {
	c, err := sequence.Open(t.Context(), repo.NewStore(memory.New(nil), &repo.Options{Redact: true}), "numbers")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Sequence("secret", &sequence.Options{First: sequence.Greatest})
	if err != nil {
		t.Fatal(err)
	}
	want(t, s, sequence.Greatest)
	_, exhausted := s.Next(t.Context())
	isKind(t, exhausted, sequence.ErrExhausted)
	_, invalid := s.Next(nil) //nolint:staticcheck // it is what the test is about
	for _, err := range []error{exhausted, invalid} {
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
}
