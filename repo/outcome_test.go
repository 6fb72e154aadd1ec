package repo_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// tokenAt returns a token that a program made whose clock shows a time.
func tokenAt(t time.Time) driver.Token {
	token := driver.NewToken()
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(t.UnixMilli()))
	copy(token[:6], ms[2:])
	return token
}

// That an insert is in no ring says that it was not done only if it is so young that no
// tombstone of its record can have been forgotten. How old one is that seems to come from
// the future nobody knows: the clocks differ, by an hour as well as by a day.
func TestResolveByAnotherClock(t *testing.T) {
	store := repo.NewStore(memory.New(&memory.Options{Uncertain: true}), nil)
	defer store.Close()
	things, err := repo.Open[thing](t.Context(), store, thingSchema())
	if err != nil {
		t.Fatal(err)
	}
	if err := things.Insert(t.Context(), &thing{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ahead time.Duration
		want  repo.Verdict
	}{
		{0, repo.NotCommitted}, {30 * time.Second, repo.NotCommitted}, {-5 * time.Minute, repo.NotCommitted},
		{time.Hour, repo.Unknown}, {24 * time.Hour, repo.Unknown}, {-time.Hour, repo.Unknown},
	} {
		var o repo.Outcome
		text := fmt.Sprintf(`{"collection":"things","partition":"a#","token":"%s","based":true}`, tokenAt(time.Now().Add(tt.ahead)))
		if err := o.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if v, err := things.Resolve(t.Context(), &o); v != tt.want || err != nil {
			t.Errorf("an insert by a clock %s ahead: %s, %v; want %s", tt.ahead, v, err, tt.want)
		}
	}
}

// A program's own clock for expiry may show any time. By one that is ahead tombstones may
// have been forgotten.
func TestResolveByAClockOfOnesOwn(t *testing.T) {
	for _, tt := range []struct {
		ahead time.Duration
		want  repo.Verdict
	}{{-10000 * time.Hour, repo.NotCommitted}, {0, repo.NotCommitted}, {time.Hour, repo.Unknown}} {
		now := func() time.Time { return time.Now().Add(tt.ahead) }
		store := repo.NewStore(memory.New(&memory.Options{Uncertain: true}), &repo.Options{Now: now})
		defer store.Close()
		things, err := repo.Open[thing](t.Context(), store, thingSchema())
		if err != nil {
			t.Fatal(err)
		}
		if err := things.Insert(t.Context(), &thing{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		var o repo.Outcome
		if err := o.UnmarshalText([]byte(`{"collection":"things","partition":"a#","token":"` + driver.NewToken().String() + `","based":true}`)); err != nil {
			t.Fatal(err)
		}
		if v, err := things.Resolve(t.Context(), &o); v != tt.want || err != nil {
			t.Errorf("with a clock %s ahead: %s, %v; want %s", tt.ahead, v, err, tt.want)
		}
	}
}
