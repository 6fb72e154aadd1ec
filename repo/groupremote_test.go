package repo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A seat lies with the room that it is in. Its claim on a guest lies in another partition.
type seat struct {
	Room  string  `repo:"room"`
	N     int64   `repo:"n"`
	Guest *string `repo:"guest"`
}

type room struct {
	Room string `repo:"room"`
	Free int64  `repo:"free"`
}

// roomsAndSeats opens two collections that lie together, in a memory store that changes a partition at a time.
func roomsAndSeats(t *testing.T, uncertain bool) (*repo.Store, *repo.Repo[room], *repo.Repo[seat]) {
	t.Helper()
	scope := driver.ScopePartition
	s := repo.NewStore(memory.New(&memory.Options{Scope: &scope, Uncertain: uncertain}), nil)
	rooms, err := repo.Open[room](t.Context(), s, repo.Schema{Collection: "rooms", Partition: []string{"room"}})
	if err != nil {
		t.Fatal(err)
	}
	seats, err := repo.Open[seat](t.Context(), s, repo.Schema{
		Collection: "seats", With: "rooms", Partition: []string{"room"}, Sort: []string{"n"},
		Indexes: []repo.Index{{Partition: []string{"guest"}, Unique: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, rooms, seats
}

// The remote claims of a group belong to its second collection as well as to its first.
func TestGroupClaimsOfSecondCollection(t *testing.T) {
	ann := "ann"
	for _, uncertain := range []bool{false, true} {
		s, rooms, seats := roomsAndSeats(t, uncertain)
		sit := func(in string) error {
			g := s.Group()
			rooms.In(g).Put(&room{Room: in, Free: 1})
			seats.In(g).Put(&seat{Room: in, N: 1, Guest: &ann})
			return g.Commit(t.Context())
		}
		if err := sit("blue"); err != nil {
			t.Fatalf("uncertain %v: %v", uncertain, err)
		}
		err := sit("red")
		e, ok := errors.AsType[*repo.Error](err)
		if !ok || !errors.Is(err, repo.ErrExists) || e.Collection != "seats" || e.Key != `red/1` {
			t.Errorf("uncertain %v: a value that another has: %v, want ErrExists of seats", uncertain, err)
		}
		if ok, err := rooms.Exists(t.Context(), repo.Key{"red"}); ok || err != nil {
			t.Errorf("uncertain %v: the room is there: %v %v", uncertain, ok, err)
		}
		if err := seats.Delete(t.Context(), repo.Key{"blue", 1}); err != nil {
			t.Fatal(err)
		}
		if err := sit("red"); err != nil { // which takes over a claim that nobody has
			t.Errorf("uncertain %v: a value that is free again: %v", uncertain, err)
		}
		if one, err := seats.One(t.Context(), repo.Where("guest", ann)); err != nil || one.Room != "red" {
			t.Errorf("uncertain %v: the guest is in %+v, %v", uncertain, one, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Each collection of a group says how old what was read may be when it is written: that of seats,
// whose claims are remote, lets it be an hour, and that of rooms five minutes.
func TestGroupAsOldAsItsStrictestCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rooms, seats := roomsAndSeats(t, true)
		if err := rooms.Insert(t.Context(), &room{Room: "blue"}); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			takes time.Duration
			want  error
		}{{4 * time.Minute, nil}, {6 * time.Minute, repo.ErrTimeout}} {
			g := s.Group()
			seats.In(g).Insert(&seat{Room: "blue", N: int64(tt.takes)})
			rooms.In(g).Update(repo.Key{"blue"}, func(r *room) error {
				time.Sleep(tt.takes)
				r.Free++
				return nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if err := g.Commit(ctx); !errors.Is(err, tt.want) {
				t.Errorf("a group that takes %s: %v, want %v", tt.takes, err, tt.want)
			}
			cancel()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
