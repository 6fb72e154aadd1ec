package operation

import (
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// latest returns the small workload, of which the first query draws so.
func latest(t *testing.T, way string) *Stream {
	return streamOf(t, testload.Parsed(t, workload.Parse, strings.Replace(testload.Small, "draw: zipf", "draw: "+way, 1)))
}

// reads returns which records are read: those of the data are P0001 to P0200.
func reads(calls []Call) (ids []string) {
	for _, k := range calls {
		if k.Q.Kind == "get" {
			ids = append(ids, k.Key[1].(string))
		}
	}
	return ids
}

// The newest records are read most, those that were inserted before the operations and among them; no record is read
// before it is inserted.
func TestLatestDrawsWhatWasInserted(t *testing.T) {
	s := latest(t, "latest")
	first := s.Mixed("round 1", 2000, 0)
	there, own := map[string]int{}, 0
	for i, k := range first {
		switch id := ""; k.Q.Kind {
		case "insert":
			id = k.Record["id"].(string)
			there[id] = i
		case "get":
			id = k.Key[1].(string)
			at, inserted := there[id]
			if id > "P0200" && (!inserted || i-at < 10) { // of 200 a second those of the last 50 ms are not answered
				t.Fatalf("operation %d reads %s, which was inserted by operation %d", i, id, at)
			}
			if inserted {
				own++
			}
		}
	}
	if all := len(reads(first)); 2*own < all {
		t.Errorf("%d of %d reads are of what was inserted among them, want more than half", own, all)
	}
	s.Follow(first)
	newest := 0
	ids := reads(s.Mixed("round 2", 200, 2000))
	for _, id := range ids {
		if at, inserted := there[id]; id > "P0200" && (!inserted || at > 1000) {
			newest++
		}
	}
	if 2*newest < len(ids) {
		t.Errorf("%d of %d reads of the next round are of the later half of what was inserted, want more than half", newest, len(ids))
	}
}

// What was made and not sent is not drawn; a branch keeps to itself what is inserted in it.
func TestInsertedIsWhatWasFollowed(t *testing.T) {
	for _, way := range []string{"latest", "scrambled"} {
		s, other := latest(t, way), latest(t, way)
		s.Mixed("round 7", 500, 9000)
		b := s.Branch(1000)
		b.Inserted(b.Mixed("round 1", 500, 5000))
		if digest(s.Mixed("round 1", 500, 0)) != digest(other.Mixed("round 1", 500, 0)) {
			t.Errorf("%s: operations that nobody sent, or that were sent to one candidate, change others", way)
		}
		before := digest(b.Mixed("round 2", 500, 6000))
		if before == digest(s.Branch(1000).Mixed("round 2", 500, 6000)) {
			t.Errorf("%s: a branch does not draw what was inserted in it", way)
		}
	}
}

// Favourites are others after so many operations.
func TestFavouritesMoveOverTheRun(t *testing.T) {
	s := latest(t, "{zipf: 1.5, moves: 500}")
	favourite := func(calls []Call) (most string) {
		hits := map[string]int{}
		for _, id := range reads(calls) {
			if hits[id]++; hits[id] > hits[most] {
				most = id
			}
		}
		return most
	}
	calls := s.Mixed("round 1", 1000, 0)
	if one, two := favourite(calls[:500]), favourite(calls[500:]); one == two {
		t.Errorf("%s is the favourite before and after the move", one)
	}
	if one, again := favourite(calls[:250]), favourite(calls[250:500]); one != again {
		t.Errorf("%s and %s are favourites of one time", one, again)
	}
}

// An update sets one of several fields, drawn anew, and limits are drawn from their bounds.
func TestDrawnFieldsAndLimits(t *testing.T) {
	text := strings.NewReplacer("add: {views: 1}", "set_one: {views: 1, category: IT}", "limit: 10", "limit: {min: 3, max: 5}").Replace(testload.Small)
	s := streamOf(t, testload.Parsed(t, workload.Parse, text))
	fields, limits := map[string]int{}, map[int]int{}
	for _, k := range s.Only(5, 300, 0) {
		rec := map[string]any{}
		k.Change(rec)
		for f := range rec {
			fields[f]++
		}
		if len(rec) != 1 || len(k.Edits) != 1 {
			t.Fatalf("%v is set, by %v", rec, k.Edits)
		}
	}
	for _, k := range s.Only(1, 300, 0) {
		limits[k.Limit]++
	}
	if fields["views"] < 100 || fields["category"] < 100 || len(limits) != 3 || limits[3] < 60 || limits[5] < 60 {
		t.Errorf("fields %v, limits %v; want each as often as the others", fields, limits)
	}
}
