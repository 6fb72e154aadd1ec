package repo_test

import (
	"context"
	"slices"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An overheard store keeps the Ring of the first op of the last commit.
type overheard struct {
	driver.Store
	ring []driver.Token
}

func (o *overheard) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	o.ring = slices.Clone(ops[0].Row.Ring)
	return o.Store.Commit(ctx, token, ops)
}

// A write that follows a read brings the ring that was read, so that a store need
// not read it again.
func TestRingTravels(t *testing.T) {
	backend := &overheard{Store: memory.New(&memory.Options{Uncertain: true})}
	store := repo.NewStore(backend, nil)
	defer store.Close()
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	p := post{Author: "ann", ID: "1", Category: "IT"}
	if err := posts.Insert(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	want := []driver.Token{driver.Token(p.Version)}
	for range 3 {
		p, err := posts.Update(t.Context(), repo.Key{"ann", "1"}, func(p *post) error { p.Views++; return nil })
		if err != nil || !slices.Equal(backend.ring, want) {
			t.Fatalf("the ring that came with the update: %v, %v; want %v", backend.ring, err, want)
		}
		want = append([]driver.Token{driver.Token(p.Version)}, want...)
	}
}
