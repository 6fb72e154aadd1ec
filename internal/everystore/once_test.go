package everystore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/once"
)

type account struct {
	Bank  string `repo:"bank"`
	No    int64  `repo:"no"`
	Cents int64  `repo:"cents"`
}

func openAccounts(t *testing.T, store *repo.Store) (*repo.Repo[account], *once.Log) {
	t.Helper()
	r, err := repo.Open[account](t.Context(), store, repo.Schema{Collection: "accounts", Partition: []string{"bank"}, Sort: []string{"no"}})
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

// Forty payments, each sent by three callers at the same time and then once more, are applied once each, on every
// store, also by a log that is opened anew.
func TestOnce(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		r, log := openAccounts(t, store)
		var applied atomic.Int64
		var all sync.WaitGroup
		send := func(log *once.Log, i int) {
			for {
				done, err := log.Apply(t.Context(), repo.Key{"b"}, fmt.Sprint("payment/", i), func(g *repo.Group) {
					r.In(g).Patch(repo.Key{"b", 1}, repo.Add("cents", 100))
				})
				if done {
					applied.Add(1)
				}
				if err == nil {
					return
				}
				if !errors.Is(err, repo.ErrContention) && !errors.Is(err, repo.ErrUnknownOutcome) {
					t.Error(err)
					return
				}
			}
		}
		for range 3 {
			all.Go(func() {
				for i := range 40 {
					send(log, i)
				}
			})
		}
		all.Wait()
		again, err := once.Open(t.Context(), store, "accounts", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		send(again, 7)
		a, err := r.Get(t.Context(), repo.Key{"b", 1})
		if err != nil || a.Cents != 4000 || applied.Load() > 40 {
			t.Errorf("the account has %d cents, %v, and %d calls applied a payment; want 4000 and 40", a.Cents, err, applied.Load())
		}
	})
}
