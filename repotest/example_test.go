package repotest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repotest"
)

type Account struct {
	Owner   string       `repo:"owner"`
	Cents   int64        `repo:"cents"`
	Version repo.Version `repo:",version"`
}

// accounts opens a repository with the account of ann on store.
func accounts(ctx context.Context, store *repotest.Store) *repo.Repo[Account] {
	r, err := repo.Open[Account](ctx, repo.NewStore(store, nil), repo.Schema{Collection: "accounts", Partition: []string{"owner"}})
	if err == nil {
		err = r.Insert(ctx, &Account{Owner: "ann", Cents: 100})
	}
	if err != nil {
		panic(err)
	}
	return r
}

// The first two writers are always too late: Update tries again.
func Example() {
	ctx := context.Background()
	store, err := repotest.New(memory.New(nil), &repotest.Options{
		Observe: func(e repotest.Event) {
			if e.Refused {
				fmt.Println(e.Call, "met a", e.Fault)
			}
		},
	})
	if err != nil {
		panic(err)
	}
	r := accounts(ctx, store)
	for _, nth := range []int{1, 2} { // counted from here
		store.Set(repotest.Rule{On: repotest.Commit, Table: "accounts", Nth: nth, Fault: repotest.Conflict})
		account, err := r.Update(ctx, repo.Key{"ann"}, func(a *Account) error {
			a.Cents += 10
			return nil
		})
		fmt.Println(account.Cents, err)
	}
	// Output:
	// commit met a conflict
	// 110 <nil>
	// 120 <nil>
}

// A write is lost on its way, or only its answer: package repo looks and finds out.
func ExampleStore_Set() {
	ctx := context.Background()
	store, err := repotest.New(memory.New(nil), &repotest.Options{Uncertain: true})
	if err != nil {
		panic(err)
	}
	r := accounts(ctx, store)
	for _, fault := range []repotest.Fault{repotest.LostAnswer, repotest.LostCall} {
		store.Set(repotest.Rule{On: repotest.Commit, Nth: 1, Fault: fault})
		account, err := r.Update(ctx, repo.Key{"ann"}, func(a *Account) error {
			a.Cents += 10
			return nil
		})
		fmt.Println(fault, account.Cents, err)
	}
	// Output:
	// lost answer 110 <nil>
	// lost call 120 <nil>
}

// A store that takes its time, and a caller who does not have it.
func ExampleRule() {
	ctx := context.Background()
	store, err := repotest.New(memory.New(nil), nil)
	if err != nil {
		panic(err)
	}
	r := accounts(ctx, store)
	store.Set(repotest.Rule{On: repotest.Get, Delay: time.Minute})
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = r.Get(ctx, repo.Key{"ann"})
	fmt.Println(errors.Is(err, repo.ErrTimeout), errors.Is(err, context.DeadlineExceeded))
	// Output: true true
}
