package history_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/history"
)

// Revisions are kept by number: each write removes those that it makes too many.
func TestKeptByNumber(t *testing.T) {
	for n := 1; n <= 4; n++ {
		onBoth(t, func(t *testing.T, open func(history.Keep) *history.History[page]) {
			ctx, all, h := t.Context(), "", open(history.Keep{Revisions: n})
			step := func(revisions string, errs ...error) { // the newest first, those that the step makes
				t.Helper()
				must(t, errs...)
				made := strings.Fields(revisions)
				all = strings.Join(append(made, strings.Fields(all)...)[:min(n, len(made)+len(strings.Fields(all)))], " ")
				want(t, h, all)
			}
			number := 0
			for range 3 {
				at := func(i int) int { return number + i }
				step(fmt.Sprintf("%d:a", at(1)), h.Put(ctx, text("a")))
				step(fmt.Sprintf("%d:b", at(2)), h.Put(ctx, text("b")))
				step(fmt.Sprintf("%d:d %d:c?", at(4), at(3)), h.Records().Put(ctx, text("c")), h.Put(ctx, text("d")))
				step(fmt.Sprintf("%d:-", at(5)), h.Delete(ctx, tea))
				step(fmt.Sprintf("%d:- %d:e?", at(7), at(6)), h.Records().Put(ctx, text("e")), h.Delete(ctx, tea))
				number += 7
			}
			step(fmt.Sprintf("%d:f", number+1), h.Put(ctx, text("f")))
			step(fmt.Sprintf("%d:g %d:-?", number+3, number+2), h.Records().Delete(ctx, tea), h.Put(ctx, text("g")))
		})
	}
}

// Revisions expire when the time is over after another one followed; the newest of a record that is there does not.
func TestKeptForATime(t *testing.T) {
	for _, uncertain := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, h := t.Context(), on(t, memory.New(&memory.Options{Uncertain: uncertain}), history.Keep{For: time.Hour})
			must(t, h.Put(ctx, text("a")))
			time.Sleep(50 * time.Minute)
			must(t, h.Put(ctx, text("b")))
			time.Sleep(50 * time.Minute)
			want(t, h, "2:b 1:a")
			time.Sleep(11 * time.Minute)
			want(t, h, "2:b")
			time.Sleep(24 * time.Hour)
			must(t, h.Records().Put(ctx, text("c")), h.Put(ctx, text("d")))
			want(t, h, "4:d 3:c? 2:b")
			must(t, h.Delete(ctx, tea))
			time.Sleep(59 * time.Minute)
			want(t, h, "5:- 4:d 3:c? 2:b")
			must(t, h.Put(ctx, text("e")))
			time.Sleep(2 * time.Minute)
			want(t, h, "6:e 5:-")
			time.Sleep(24 * time.Hour)
			must(t, h.Delete(ctx, tea))
			time.Sleep(61 * time.Minute)
			want(t, h, "")
			must(t, h.Put(ctx, text("f")))
			want(t, h, "1:f")
		})
	}
}

// After keep was changed to less, Prune removes what is too much, also when it is broken off and resumed.
func TestPrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, backend := t.Context(), memory.New(nil)
		all := on(t, backend, history.Keep{})
		for i := range 300 { // of one record more than are read together
			must(t, all.Put(ctx, text(fmt.Sprint(i+1))))
			if i%3 == 0 {
				must(t, all.Put(ctx, &page{Wiki: "de", Title: fmt.Sprint(i % 30), Text: "x"}))
			}
		}
		prune := func(h *history.History[page]) (removed int) {
			t.Helper()
			for mark, more := "", true; more; more = mark != "" {
				from := mark
				mark = ""
				for p, err := range h.Prune(ctx, from) {
					must(t, err)
					removed, mark = removed+p.Removed, p.Mark
					break // each chunk by a call of its own
				}
			}
			return removed
		}
		if n := prune(all); n != 0 {
			t.Errorf("%d revisions were removed that are kept", n)
		}
		if n := prune(on(t, backend, history.Keep{Revisions: 3})); n != 297+10*7 {
			t.Errorf("%d revisions were removed, want 367", n)
		}
		want(t, all, "300:300 299:299 298:298")
		time.Sleep(time.Minute)
		must(t, all.Put(ctx, text("new")))
		hour := on(t, backend, history.Keep{For: time.Hour})
		time.Sleep(time.Hour)
		if n := prune(hour); n != 2+10*2 {
			t.Errorf("%d revisions were removed, want 22", n)
		}
		want(t, all, "301:new 300:300")
	})
}

// A writer who found no history, and comes after others wrote, deleted and removed revisions, takes no number twice.
func TestLateFirstWriter(t *testing.T) {
	for n := 1; n <= 3; n++ {
		backend := &hookedStore{Store: memory.New(nil)}
		ctx, h := t.Context(), on(t, backend, history.Keep{Revisions: n})
		other := on(t, backend.Store, history.Keep{Revisions: n})
		backend.hook = func() {
			backend.hook = nil
			for range 5 {
				must(t, other.Put(ctx, text("other")), other.Delete(ctx, tea))
			}
		}
		must(t, h.Insert(ctx, text("late")))
		if got := strings.Fields(told(t, h, tea)); len(got) != n || got[0] != "11:late" {
			t.Errorf("%d are kept: %v", n, got)
		}
		for _, f := range faults(t, h, tea) {
			t.Error(f)
		}
	}
}

func TestBadKeep(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	for _, keep := range []history.Keep{{Revisions: -1}, {For: -time.Second}, {For: time.Millisecond}} {
		_, err := history.Open[page](t.Context(), store, pages, keep)
		isKind(t, err, repo.ErrInvalid)
	}
}
