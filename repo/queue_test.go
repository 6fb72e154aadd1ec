package repo_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A turnstile takes its time for each commit, and counts them.
type turnstile struct {
	driver.Store
	commits atomic.Int64
	takes   time.Duration
	narrow  chan struct{} // it lets one commit after the other through, if it is not nil
}

func (s *turnstile) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	s.commits.Add(1)
	if s.narrow != nil {
		s.narrow <- struct{}{}
		defer func() { <-s.narrow }()
	}
	time.Sleep(s.takes)
	return s.Store.Commit(ctx, token, ops)
}

// A counter has an index that changes with every count, so that each must know what it was.
type counter struct {
	ID string `repo:"id"`
	N  int64  `repo:"n"`
}

func openCounter(t *testing.T, s *turnstile) *repo.Repo[counter] {
	t.Helper()
	schema := repo.Schema{Collection: "counters", Partition: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"n"}}}}
	counters, err := repo.Open[counter](t.Context(), repo.NewStore(s, nil), schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := counters.Insert(t.Context(), &counter{ID: "all"}); err != nil {
		t.Fatal(err)
	}
	s.commits.Store(0)
	return counters
}

// Many writers of one record refuse each other no more often than there are of them, twice:
// when all come at once, and when one comes while another has its turn. So it is, too, where
// the store does one commit after the other and those of all who came at once take much
// longer than a turn may.
func TestWritersOfOneRecordTakeTurns(t *testing.T) {
	t.Parallel()
	for name, takes := range map[string]time.Duration{"side by side": time.Millisecond, "one after the other": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const writers = 150
				s := &turnstile{Store: memory.New(nil), takes: takes}
				if name == "one after the other" {
					s.narrow = make(chan struct{}, 1)
				}
				counters := openCounter(t, s)
				var wg sync.WaitGroup
				for range writers {
					wg.Go(func() {
						if _, err := counters.Patch(t.Context(), repo.Key{"all"}, repo.Add("n", 1)); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if got, err := counters.Get(t.Context(), repo.Key{"all"}); got.N != writers || err != nil {
					t.Errorf("%d were counted, %v; want %d", got.N, err, writers)
				}
				if n := s.commits.Load(); n > 3*writers {
					t.Errorf("%d writers sent %d commits, more than three each", writers, n)
				}
			})
		})
	}
}

// Who went ahead, because another had its turn for too long, waits anew when it is refused
// again: others, who have their turns, would be faster each time. Time is simulated.
func TestWhoWentAheadWaitsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &turnstile{Store: memory.New(nil), takes: time.Millisecond}
		counters := openCounter(t, s)
		key, stop := repo.Key{"all"}, make(chan struct{})
		var late, others sync.WaitGroup
		count := func(takes func() time.Duration) error {
			_, err := counters.Update(t.Context(), key, func(c *counter) error {
				time.Sleep(takes())
				c.N++
				return nil
			})
			return err
		}
		for range 4 { // each is slow to count, and for longer than a turn may last once
			attempt := 0
			late.Go(func() {
				err := count(func() time.Duration {
					if attempt++; attempt == 2 {
						return 3 * longestTurn
					}
					return 5 * time.Millisecond
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		for range 8 {
			others.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if err := count(func() time.Duration { return time.Millisecond }); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		late.Wait()
		close(stop)
		others.Wait()
		if n := s.commits.Load(); n < 100 {
			t.Errorf("%d commits: this test looks at nothing", n)
		}
	})
}

// longestTurn is how long a turn may last before others go ahead.
const longestTurn = time.Second

// A function that is given to Update may itself write, also while its own record and the other
// one are waited for.
func TestWriteWithinATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &turnstile{Store: memory.New(nil), takes: time.Millisecond}
		counters := openCounter(t, s)
		if err := counters.Insert(t.Context(), &counter{ID: "other"}); err != nil {
			t.Fatal(err)
		}
		const writers = 20
		var wg sync.WaitGroup
		for i := range 2 * writers {
			id, other := "all", "other"
			if i%2 == 1 {
				id, other = other, id
			}
			wg.Go(func() {
				once := sync.OnceValue(func() error {
					_, err := counters.Patch(t.Context(), repo.Key{other}, repo.Add("n", 1))
					return err
				})
				_, err := counters.Update(t.Context(), repo.Key{id}, func(c *counter) error {
					c.N++
					return once()
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, id := range []string{"all", "other"} {
			if got, err := counters.Get(t.Context(), repo.Key{id}); got.N != 2*writers || err != nil {
				t.Errorf("%s: %d were counted, %v; want %d", id, got.N, err, 2*writers)
			}
		}
	})
}

// Who waits for its turn no longer than its context lasts says so, has changed nothing, and is
// in nobody's way. Time is simulated.
func TestTurnEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &turnstile{Store: memory.New(nil), takes: time.Millisecond}
		counters := openCounter(t, s)
		var wg sync.WaitGroup
		var done, late atomic.Int64
		for range 60 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				switch _, err := counters.Patch(ctx, repo.Key{"all"}, repo.Add("n", 1)); {
				case err == nil:
					done.Add(1)
				case errors.Is(err, repo.ErrTimeout) || errors.Is(err, repo.ErrUnknownOutcome):
					late.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := counters.Get(t.Context(), repo.Key{"all"})
		if err != nil || got.N < done.Load() || got.N > done.Load()+late.Load() {
			t.Errorf("%d were counted, %v; %d were acknowledged and %d late", got.N, err, done.Load(), late.Load())
		}
		began := time.Now()
		if _, err := counters.Patch(t.Context(), repo.Key{"all"}, repo.Add("n", 1)); err != nil || time.Since(began) > 100*time.Millisecond {
			t.Errorf("the next one: %v after %s; nobody is left whose turn it could wait for", err, time.Since(began))
		}
	})
}
