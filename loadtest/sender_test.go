package loadtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

// Two senders of the same data send different operations, as one would send all, and nothing reuses the data thereafter.
func TestSenders(t *testing.T) {
	s := lasting{newWatched()}
	keeping(t, s, one, keep)
	w := mustParse(t, one)
	var senders [2]*Sender
	for i := range senders {
		sender, err := OpenSender(t.Context(), w, "covering", "memory:", func(context.Context, string) (driver.Store, error) { return s, nil })
		if err != nil {
			t.Fatal(err)
		}
		defer sender.Close()
		senders[i] = sender
	}
	var mu sync.Mutex
	told := map[string]int{}
	var all sync.WaitGroup
	for first := range 8 {
		all.Go(func() {
			for n := first; n < 2500; n += 8 {
				o, err := senders[n%2].Send(t.Context(), n)
				if err != nil || o.Response <= 0 || o.Model != "covering" || o.Store != "memory:" {
					t.Errorf("operation %d: %+v, %v", n, o, err)
				}
				mu.Lock()
				told[o.Query+": "+o.Outcome]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if n := told["new post: done"]; n < 400 || told["new post: already exists"] > 0 || told["one post: done"]+told["one post: not found"] < 800 {
		t.Errorf("outcomes %v", told)
	}
	if o, err := senders[0].Send(t.Context(), firstOf(t, senders[0], "new post")); err != nil || o.Outcome != "already exists" {
		t.Errorf("an insert that was sent: %+v, %v", o, err)
	}
	holds(t, keeping(t, s, one, reuse), []string{"load covering anew: ", "a run wrote to it"}, nil)
}

// firstOf returns the number of the first operation of a query.
func firstOf(t *testing.T, s *Sender, query string) int {
	t.Helper()
	for n := range blockSize {
		if k, err := s.call(n); err == nil && k.Q.Name == query {
			return n
		}
	}
	t.Fatalf("no operation is a %s", query)
	return 0
}

func TestSenderOfNothing(t *testing.T) {
	s := lasting{newWatched()}
	open := func(context.Context, string) (driver.Store, error) { return s, nil }
	w := mustParse(t, one)
	for model, want := range map[string]string{"covering": "no run kept it; load them: polystore load", "other": `no model "other"; it has "covering"`} {
		if _, err := OpenSender(t.Context(), w, model, "memory:", open); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", model, err, want)
		}
	}
	keeping(t, s, one, keep)
	w.Seed++
	if _, err := OpenSender(t.Context(), w, "covering", "memory:", open); !errors.Is(err, driver.ErrNotFound) || !strings.Contains(err.Error(), "seed") {
		t.Errorf("another seed: %v", err)
	}
	w.Seed--
	sender, err := OpenSender(t.Context(), w, "covering", "memory:", open)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{-1, mostSent + 1} {
		if _, err := sender.Send(t.Context(), n); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("operation %d: %v", n, err)
		}
	}
	if _, err := OpenSender(t.Context(), nil, "covering", "memory:", open); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("no workload: %v", err)
	}
}
