package once_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/once"
)

type account struct {
	Bank  string `repo:"bank"`
	No    int64  `repo:"no"`
	Cents int64  `repo:"cents"`
}

var accounts = repo.Schema{Collection: "accounts", Partition: []string{"bank"}, Sort: []string{"no"}}

func open(t *testing.T, store *repo.Store) (*repo.Repo[account], *once.Log) {
	t.Helper()
	r, err := repo.Open[account](t.Context(), store, accounts)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(t.Context(), &account{Bank: "b", No: 1}); err != nil {
		t.Fatal(err)
	}
	log, err := once.Open(t.Context(), store, "accounts", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return r, log
}

func cents(t *testing.T, r *repo.Repo[account]) int64 {
	t.Helper()
	a, err := r.Get(t.Context(), repo.Key{"b", 1})
	if err != nil {
		t.Error(err)
	}
	return a.Cents
}

func pay(r *repo.Repo[account], n int64) func(g *repo.Group) {
	return func(g *repo.Group) { r.In(g).Patch(repo.Key{"b", 1}, repo.Add("cents", n)) }
}

// A deafStore does every fourth commit without saying so, and then answers nothing for a minute, so that nobody can
// find out what became of it.
type deafStore struct {
	driver.Store
	commits int
	deaf    time.Time // until then
}

var errDeaf = fmt.Errorf("no answer: %w", driver.ErrUnavailable)

func (s *deafStore) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if time.Now().Before(s.deaf) {
		return errDeaf
	}
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s *deafStore) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if time.Now().Before(s.deaf) {
		return nil, errDeaf
	}
	refusal, err := s.Store.Commit(ctx, token, ops)
	if !strings.HasPrefix(ops[0].Table.Name, "accounts") {
		return refusal, err
	}
	if s.commits++; s.commits%4 == 0 {
		s.deaf = time.Now().Add(time.Minute)
		return nil, fmt.Errorf("no answer: %w", driver.ErrUnknownOutcome)
	}
	return refusal, err
}

// A caller that hears nothing sends its payment again until it hears something. With tokens of its attempts, in the
// place of one of the payment, some are paid twice.
func TestLostAnswers(t *testing.T) {
	paid := func(token func(payment, attempt int) string) (sum int64, unknown int) {
		synctest.Test(t, func(t *testing.T) {
			store := repo.NewStore(&deafStore{Store: memory.New(&memory.Options{Uncertain: true})}, nil)
			defer store.Close()
			r, log := open(t, store)
			for i := range 40 {
				for attempt := 0; ; attempt++ {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					_, err := log.Apply(ctx, repo.Key{"b"}, token(i, attempt), pay(r, 1))
					cancel()
					if err == nil {
						break
					}
					if errors.Is(err, repo.ErrUnknownOutcome) {
						unknown++
					}
					time.Sleep(10 * time.Second)
				}
			}
			sum = cents(t, r)
		})
		return sum, unknown
	}
	with, unknown := paid(func(payment, _ int) string { return fmt.Sprint(payment) })
	without, _ := paid(func(payment, attempt int) string { return fmt.Sprint(payment, attempt) })
	if with != 40 || unknown < 5 || without <= 40 {
		t.Errorf("40 payments of a cent came to %d, with %d unknown outcomes, and to %d without tokens", with, unknown, without)
	}
}

// A token is forgotten when its time is over, and not before.
func TestTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := repo.NewStore(memory.New(nil), nil)
		defer store.Close()
		r, log := open(t, store)
		for _, step := range []struct {
			wait    time.Duration
			applied bool
		}{{0, true}, {59 * time.Minute, false}, {2 * time.Minute, true}, {time.Minute, false}} {
			time.Sleep(step.wait)
			if applied, err := log.Apply(t.Context(), repo.Key{"b"}, "t", pay(r, 1)); applied != step.applied || err != nil {
				t.Errorf("after another %v: applied %t, %v", step.wait, applied, err)
			}
		}
	})
}

// Writes that fail leave no token, so that a later call may still apply them.
func TestFailedWrites(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	defer store.Close()
	r, log := open(t, store)
	missing := func(g *repo.Group) { r.In(g).Patch(repo.Key{"b", 2}, repo.Add("cents", 1)) }
	if applied, err := log.Apply(t.Context(), repo.Key{"b"}, "t", missing); applied || !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("a missing account: %t, %v", applied, err)
	}
	if err := r.Insert(t.Context(), &account{Bank: "b", No: 2}); err != nil {
		t.Fatal(err)
	}
	if applied, err := log.Apply(t.Context(), repo.Key{"b"}, "t", missing); !applied || err != nil {
		t.Errorf("the account that is there now: %t, %v", applied, err)
	}
	inserts := func(g *repo.Group) { r.In(g).Insert(&account{Bank: "b", No: 3}) }
	for i, want := range []bool{true, false, false} {
		if applied, err := log.Apply(t.Context(), repo.Key{"b"}, "u", inserts); applied != want || err != nil {
			t.Errorf("insert %d: %t, %v", i, applied, err)
		}
	}
	if applied, err := log.Apply(t.Context(), repo.Key{"b"}, "v", inserts); applied || !errors.Is(err, repo.ErrExists) {
		t.Errorf("an insert under a key that is taken: %t, %v", applied, err)
	}
}

func TestRefused(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	defer store.Close()
	r, log := open(t, store)
	ctx, b := t.Context(), repo.Key{"b"}
	apply := func(log *once.Log, ctx context.Context, at repo.Key, token string, add func(*repo.Group)) error {
		applied, err := log.Apply(ctx, at, token, add)
		if applied {
			t.Error("a bad call was applied")
		}
		return err
	}
	_, short := once.Open(ctx, store, "accounts", time.Millisecond)
	_, none := once.Open(ctx, store, "nothing", time.Hour)
	for text, err := range map[string]error{
		"a second is the least":        short,
		"the log is nil":               apply(nil, ctx, b, "t", pay(r, 1)),
		"the context is nil":           apply(log, nil, b, "t", pay(r, 1)), //nolint:staticcheck // it is what is tested
		"the function is nil":          apply(log, ctx, b, "t", nil),
		"the token has 0 bytes":        apply(log, ctx, b, "", pay(r, 1)),
		"the token has 513 bytes":      apply(log, ctx, b, strings.Repeat("x", 513), pay(r, 1)),
		`the partition is ["bank"]`:    apply(log, ctx, repo.Key{"b", 1}, "t", pay(r, 1)),
		"field bank is of kind string": apply(log, ctx, repo.Key{7}, "t", pay(r, 1)),
		"not valid UTF-8":              apply(log, ctx, b, "\xff", pay(r, 1)),
	} {
		if !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v; want %q", err, text)
		}
	}
	if !errors.Is(none, repo.ErrNotFound) {
		t.Errorf("a log of no collection: %v", none)
	}
	if sum := cents(t, r); sum != 0 {
		t.Errorf("%d cents were paid", sum)
	}
}
