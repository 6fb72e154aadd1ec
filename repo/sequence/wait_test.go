package sequence_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/sequence"
	"github.com/polystore/polystore/repotest"
)

// A slow store takes a second for each commit, counts them, and may do something else instead.
type slow struct {
	driver.Store
	commits atomic.Int64
	instead func() error
	after   atomic.Int64 // how much longer the answer of the next commit takes
}

func (s *slow) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	s.commits.Add(1)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, driver.ErrTimeout
	}
	if s.instead != nil {
		return nil, s.instead()
	}
	after := time.Duration(s.after.Swap(0))
	refusal, err := s.Store.Commit(ctx, token, ops)
	time.Sleep(after)
	return refusal, err
}

// waiting calls a function with a sequence on a slow store that has handed out 1 and has nothing in hand.
func waiting(t *testing.T, block int, test func(t *testing.T, s *sequence.Sequence, store *slow)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
		store := &slow{Store: memory.New(nil)}
		s := of(t, store, &sequence.Options{Block: block})
		want(t, s, 1)
		store.commits.Store(0)
		test(t, s, store)
	})
}

// callers call Next at the same time, with contexts of their own, and wait. Each has its number or its error.
type callers struct {
	wait    sync.WaitGroup
	numbers []int64
	errs    []error
	cancel  []context.CancelFunc
}

func call(t *testing.T, s *sequence.Sequence, n int) *callers {
	c := &callers{numbers: make([]int64, n), errs: make([]error, n), cancel: make([]context.CancelFunc, n)}
	for i := range n {
		ctx, cancel := context.WithCancel(t.Context())
		c.cancel[i] = cancel
		c.wait.Go(func() { c.numbers[i], c.errs[i] = s.Next(ctx) })
		synctest.Wait() // so that they come in this order
	}
	return c
}

func (c *callers) want(t *testing.T, numbers ...int64) {
	t.Helper()
	c.wait.Wait()
	for i, n := range numbers {
		if c.numbers[i] != n || (c.errs[i] == nil) != (n != 0) {
			t.Errorf("caller %d: %d, %v, want %d", i, c.numbers[i], c.errs[i], n)
		}
	}
	for _, cancel := range c.cancel {
		cancel()
	}
}

// Many callers make one write, beside the one that is under way when they come.
func TestOneWriteForMany(t *testing.T) {
	for block, writes := range map[int]int64{1: 2, 10: 2, 2000: 1} {
		waiting(t, block, func(t *testing.T, s *sequence.Sequence, store *slow) {
			if block > 1 { // nothing is in hand
				if err := s.Advance(t.Context(), 5000); err != nil {
					t.Fatal(err)
				}
				store.commits.Store(0)
			}
			c := call(t, s, 1001)
			began := time.Now()
			c.want(t)
			if n, took := store.commits.Load(), time.Since(began); n != writes || took != time.Duration(n)*time.Second {
				t.Errorf("block %d: %d commits in %v, want %d", block, n, took, writes)
			}
			if !slices.IsSorted(c.numbers) || c.numbers[1000]-c.numbers[0] != 1000 {
				t.Errorf("block %d: who came first has not the smaller number: %v", block, c.numbers)
			}
		})
	}
}

// Who leaves gets an error at once, and the others their numbers: also after the one that writes has left.
func TestLeaving(t *testing.T) {
	for name, tt := range map[string]struct {
		leave []int
		want  []int64
	}{
		"nobody":            {nil, []int64{2, 3, 4, 5}},
		"who writes":        {[]int{0}, []int64{0, 2, 3, 4}},
		"who writes next":   {[]int{1}, []int64{2, 0, 3, 4}},
		"the last":          {[]int{3}, []int64{2, 3, 4, 0}},
		"two that write":    {[]int{0, 1}, []int64{0, 0, 2, 3}},
		"one before others": {[]int{2, 0}, []int64{0, 2, 0, 3}},
		"all":               {[]int{0, 1, 2, 3}, []int64{0, 0, 0, 0}},
		"all, from the end": {[]int{3, 2, 1, 0}, []int64{0, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			waiting(t, 1, func(t *testing.T, s *sequence.Sequence, _ *slow) {
				c := call(t, s, 4)
				for _, i := range tt.leave {
					c.cancel[i]()
					synctest.Wait()
					if !errors.Is(c.errs[i], repo.ErrTimeout) {
						t.Errorf("caller %d has not left: %v", i, c.errs[i])
					}
				}
				c.want(t, tt.want...)
				want(t, s, slices.Max(append(tt.want, 1))+1)
			})
		})
	}
}

// Callers that leave just when numbers come lose at most these numbers.
func TestLeavingAtRandom(t *testing.T) {
	onStores(t, func(t *testing.T, backend driver.Store) {
		for _, size := range []int{1, 3} {
			s := of(t, backend, block(size))
			var wait sync.WaitGroup
			all := make([][]given, 8)
			for i := range all {
				wait.Go(func() {
					for k := range 100 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(k%10)*20*time.Microsecond)
						n, err := s.Next(ctx)
						cancel()
						if err == nil {
							all[i] = append(all[i], given{n: n})
						} else if !errors.Is(err, repo.ErrTimeout) && !errors.Is(err, repo.ErrUnknownOutcome) {
							t.Error(err)
						}
					}
				})
			}
			wait.Wait()
			for _, bad := range faults(append(all, draw(t, 4, 5, s)...), false) {
				t.Errorf("block %d: %s", size, bad)
			}
		}
	})
}

// With blocks of 1, a number that nobody waits for any more is not kept for a later caller: others took greater ones
// meanwhile.
func TestNothingIsKeptWithoutBlocks(t *testing.T) {
	waiting(t, 1, func(t *testing.T, s *sequence.Sequence, store *slow) {
		c := call(t, s, 3)
		time.Sleep(1500 * time.Millisecond) // the write for the second and the third is under way
		c.cancel[2]()
		c.want(t, 2, 3, 0)
		want(t, of(t, store.Store, nil), 5)
		want(t, s, 6)
	})
}

// After Advance no number is handed out that was taken before, but to those who waited then.
func TestAdvanceWhileOthersWait(t *testing.T) {
	waiting(t, 10, func(t *testing.T, s *sequence.Sequence, store *slow) {
		want(t, s, 2, 3, 4, 5, 6, 7, 8, 9, 10)
		c := call(t, s, 1)
		time.Sleep(500 * time.Millisecond)
		if err := of(t, store.Store, nil).Reuse(t.Context(), 100); err != nil { // at once, so that the write begins anew
			t.Error(err)
		}
		if err := s.Advance(t.Context(), 1000); err != nil {
			t.Error(err)
		}
		c.wait.Wait()
		if c.errs[0] != nil || c.numbers[0] < 100 {
			t.Error(c.numbers, c.errs)
		}
		c.want(t)
		if n, err := s.Next(t.Context()); err != nil || n < 1000 {
			t.Error(n, err)
		}
	})
}

// The rest of a block that was taken before Advance, and whose answer comes after it, is not handed out.
func TestAdvanceBeforeAnAnswer(t *testing.T) {
	waiting(t, 10, func(t *testing.T, s *sequence.Sequence, store *slow) {
		want(t, s, 2, 3, 4, 5, 6, 7, 8, 9, 10)
		store.after.Store(int64(5 * time.Second))
		c := call(t, s, 1)
		time.Sleep(1500 * time.Millisecond) // the block is taken
		if err := s.Advance(t.Context(), 21); err != nil {
			t.Error(err)
		}
		c.want(t, 11)
		want(t, s, 21)
	})
}

// Two programs make one sequence at the same time.
func TestMadeTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slow{Store: memory.New(nil)}
		a, b := call(t, of(t, store, nil), 1), call(t, of(t, store, nil), 1)
		a.want(t)
		b.want(t)
		if a.numbers[0]+b.numbers[0] != 3 {
			t.Error(a, b)
		}
	})
}

// An error of the store is that of all who wait, not one after the other.
func TestErrorsAreShared(t *testing.T) {
	waiting(t, 1, func(t *testing.T, s *sequence.Sequence, store *slow) {
		store.instead = func() error { return driver.ErrUnavailable }
		began := time.Now()
		c := call(t, s, 100)
		c.want(t, make([]int64, 100)...)
		for _, err := range c.errs {
			isKind(t, err, repo.ErrUnavailable)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("they took %v", took)
		}
		store.instead = nil
		want(t, s, 2)
	})
}

// A goroutine that ends within a write leaves nobody waiting.
func TestGoexit(t *testing.T) {
	waiting(t, 1, func(t *testing.T, s *sequence.Sequence, store *slow) {
		store.instead = func() error { store.instead = nil; runtime.Goexit(); return nil }
		c := call(t, s, 3)
		c.wait.Wait()
		if c.numbers[0] != 0 || c.numbers[1] == 0 || c.numbers[2] == 0 {
			t.Error(c.numbers, c.errs)
		}
		c.want(t)
		n, err := s.Next(t.Context())
		if err != nil || n < 4 {
			t.Error(n, err)
		}
	})
}

// Lost answers, lost calls, late and double commits skip numbers and give none twice.
func TestUnknownOutcomes(t *testing.T) {
	for _, fault := range []repotest.Fault{repotest.LostAnswer, repotest.LostCall, repotest.Late, repotest.Twice, repotest.Conflict, repotest.Unavailable} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			store, err := repotest.New(memory.New(nil), &repotest.Options{Uncertain: true, Rules: []repotest.Rule{
				{On: repotest.Commit, Collection: "numbers", Share: 0.3, Fault: fault, After: 2},
				{On: repotest.Get, Collection: "numbers", Share: 0.1, Fault: repotest.Unavailable},
			}})
			if err != nil {
				t.Fatal(err)
			}
			list := []*sequence.Sequence{of(t, store, nil), of(t, store, block(5))}
			var all []given
			for i := range 300 {
				n, err := list[i%2].Next(t.Context())
				if err == nil {
					all = append(all, given{n: n})
				} else if e, ok := errors.AsType[*repo.Error](err); !ok || !e.Retryable && e.Outcome == nil {
					t.Errorf("call %d: %v", i, err)
				}
			}
			if len(all) < 150 {
				t.Errorf("%d numbers only", len(all))
			}
			var lists [][]given
			for i := range all {
				lists = append(lists, all[i:i+1])
			}
			for _, bad := range faults(lists, false) {
				t.Error(bad)
			}
		})
	}
}

// unsettled returns a sequence with 2 to 10 in hand, or with nothing. The answer of the next write is lost, and the
// looks for its outcome fail.
func unsettled(t *testing.T, inHand bool) *sequence.Sequence {
	t.Helper()
	store, err := repotest.New(memory.New(nil), &repotest.Options{Uncertain: true})
	if err != nil {
		t.Fatal(err)
	}
	s := of(t, store, block(10))
	want(t, s, 1)
	if !inHand {
		want(t, s, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	}
	rules := []repotest.Rule{{On: repotest.Commit, Nth: 1, Fault: repotest.LostAnswer}}
	for nth := range 3 { // the first one is that before the write
		rules = append(rules, repotest.Rule{On: repotest.Get, Nth: nth + 2, Fault: repotest.Unavailable})
	}
	if err := store.Set(rules...); err != nil {
		t.Fatal(err)
	}
	return s
}

// After an unknown outcome Next takes other numbers, and numbers in hand lose their worth.
func TestUnsettled(t *testing.T) {
	want(t, unsettled(t, false), 21)
	s := unsettled(t, true)
	isKind(t, s.Advance(t.Context(), 50), repo.ErrUnknownOutcome)
	want(t, s, 50)
}
