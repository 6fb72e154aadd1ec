package everystore

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/history"
)

var accountsSchema = repo.Schema{Collection: "accounts", Partition: []string{"bank"}, Sort: []string{"no"}}

func openHistory(t *testing.T, store *repo.Store, keep history.Keep) *history.History[account] {
	t.Helper()
	h, err := history.Open[account](t.Context(), store, accountsSchema, keep)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Three writers count in one record, and then it is deleted, written beside its history, and restored. Each write has its
// revision, on every store, and the last five are kept.
func TestHistory(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx, key, keep := t.Context(), repo.Key{"b", 1}, history.Keep{Revisions: 5}
		h := openHistory(t, store, keep)
		steps := func(errs ...error) {
			t.Helper()
			for i, err := range errs {
				if err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
		}
		steps(h.Insert(ctx, &account{Bank: "b", No: 1}))
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				for range 10 {
					err := repo.ErrContention
					for errors.Is(err, repo.ErrContention) {
						_, err = h.Update(ctx, key, func(a *account) error { a.Cents++; return nil })
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		steps(h.Delete(ctx, key, history.By("ann"), history.Why("closed")), h.Records().Put(ctx, &account{Bank: "b", No: 1, Cents: 7}),
			h.Put(ctx, &account{Bank: "b", No: 1, Cents: 8}), h.Restore(ctx, key, 31))
		list, err := h.Revisions(ctx, key, 10, "")
		steps(err)
		got := ""
		for _, r := range list.Items {
			got += fmt.Sprintf("%d:%d%s%t%t ", r.Number, r.Record.Cents, r.By, r.Deleted, r.Outside)
		}
		now, err := h.Records().Get(ctx, key)
		if want := "35:30falsefalse 34:8falsefalse 33:7falsetrue 32:0anntruefalse 31:30falsefalse "; got != want || err != nil || now.Cents != 30 {
			t.Errorf("the revisions are %s, want %s; the account has %d cents, %v", got, want, now.Cents, err)
		}
		for range 3 { // which find it as it is
			steps(h.Adopt(ctx, key))
		}
		changes, err := h.Diff(ctx, key, 34, 35)
		if err != nil || fmt.Sprint(changes) != "[cents: 8 -> 30]" {
			t.Errorf("the differences are %v, %v", changes, err)
		}
	})
}
