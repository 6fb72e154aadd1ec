package repotest_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repotest"
)

func TestFaultsOfCommit(t *testing.T) {
	tests := []struct {
		fault   repotest.Fault
		refused bool
		want    error
		done    bool // before Release
		later   bool // after it
	}{
		{repotest.None, false, nil, true, true},
		{repotest.Conflict, false, nil, true, true}, // an insert expects no version
		{repotest.Taken, true, nil, false, false},
		{repotest.Timeout, false, driver.ErrTimeout, false, false},
		{repotest.Unavailable, false, driver.ErrUnavailable, false, false},
		{repotest.LostAnswer, false, driver.ErrUnknownOutcome, true, true},
		{repotest.LostCall, false, driver.ErrUnknownOutcome, false, false},
		{repotest.Late, false, driver.ErrUnknownOutcome, false, true},
		{repotest.Twice, false, nil, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.fault.String(), func(t *testing.T) {
			table := notes()
			s := wrap(t, table, &repotest.Options{Rules: []repotest.Rule{{On: repotest.Commit, Nth: 2, Fault: tt.fault}}})
			if got, want := s.Facts().Uncertain, tt.fault >= repotest.LostAnswer; got != want {
				t.Errorf("Facts().Uncertain = %v, want %v", got, want)
			}
			for id := range 3 {
				refusal, err := s.Commit(t.Context(), driver.NewToken(), put(table, id, driver.Absent))
				if id != 1 && (refusal != nil || err != nil) {
					t.Errorf("commit %d, which no rule names: %v, %v", id, refusal, err)
				}
				if id == 1 && ((refusal != nil) != tt.refused || !errors.Is(err, tt.want)) {
					t.Errorf("commit: %v, %v; want refused %v, %v", refusal, err, tt.refused, tt.want)
				}
			}
			if got := there(t, s, table, 1); got != tt.done {
				t.Errorf("it is there: %v, want %v", got, tt.done)
			}
			s.Release()
			if got := there(t, s, table, 1); got != tt.later {
				t.Errorf("it is there after Release: %v, want %v", got, tt.later)
			}
			if !there(t, s, table, 0) || !there(t, s, table, 2) {
				t.Error("a commit that no rule names was not done")
			}
		})
	}
}

// TestTwiceIsSeenWithoutARing is the control of Twice: a table that keeps no tokens
// refuses the second sending.
func TestTwiceIsSeenWithoutARing(t *testing.T) {
	table := notes()
	table.Ring = 0
	s := wrap(t, table, &repotest.Options{Rules: []repotest.Rule{{On: repotest.Commit, Fault: repotest.Twice}}})
	refusal, err := s.Commit(t.Context(), driver.NewToken(), put(table, 1, driver.Absent))
	if refusal == nil || err != nil || !there(t, s, table, 1) {
		t.Errorf("commit sent twice: %v, %v, there: %v; want a refusal of what is there", refusal, err, there(t, s, table, 1))
	}
}

func TestConflictIsOne(t *testing.T) {
	table := notes()
	rows := notes()
	rows.Name, rows.Class = "notes.index", driver.Rows
	s := wrap(t, table, nil)
	if err := s.Define(t.Context(), []*driver.Table{rows}); err != nil {
		t.Fatal(err)
	}
	token := driver.NewToken()
	if _, err := s.Commit(t.Context(), token, put(table, 1, driver.Any)); err != nil {
		t.Fatal(err)
	}
	before := get(t, s, table, 1)
	if err := s.Set(repotest.Rule{On: repotest.Commit, Fault: repotest.Conflict}); err != nil {
		t.Fatal(err)
	}
	update := put(table, 1, driver.AtRev)
	update[0].Rev = token
	refusal, err := s.Commit(t.Context(), driver.NewToken(), append(put(rows, 1, driver.Any), update...))
	if refusal == nil || err != nil || refusal.Op != 1 {
		t.Fatalf("at rev: %+v, %v; want a refusal of op 1", refusal, err)
	}
	after := get(t, s, table, 1)
	if diff := cmp.Diff(after, refusal.Row); diff != "" {
		t.Errorf("the refusal has another row than there is: %s", diff)
	}
	if after.Rev == before.Rev || after.Ring[0] == before.Ring[0] || !after.Fields[0].Equal(before.Fields[0]) {
		t.Errorf("the row after the conflict is %+v, before it %+v; want another version of the same", after, before)
	}
	if refusal.Why != "rule 1 of repotest" {
		t.Errorf("the refusal says %q, want the rule", refusal.Why)
	}
	for i, ops := range [][]driver.Op{put(table, 3, driver.Any), put(table, 5, driver.Absent), put(rows, 4, driver.Absent), put(table, 1, driver.Present)} {
		if refusal, err := s.Commit(t.Context(), driver.NewToken(), ops); refusal != nil || err != nil {
			t.Errorf("commit %d cannot meet a conflict: %+v, %v", i, refusal, err)
		}
	}
}

func TestTakenIsOne(t *testing.T) {
	table := notes()
	s := wrap(t, table, nil)
	if err := s.Set(repotest.Rule{Name: "spam", On: repotest.Commit, Fault: repotest.Taken}); err != nil {
		t.Fatal(err)
	}
	if refusal, err := s.Commit(t.Context(), driver.NewToken(), put(table, 1, driver.Any)); refusal != nil || err != nil {
		t.Errorf("a put inserts nothing: %+v, %v", refusal, err)
	}
	refusal, err := s.Commit(t.Context(), driver.NewToken(), put(table, 2, driver.Absent))
	if refusal == nil || err != nil || refusal.Row.Rev.IsZero() || there(t, s, table, 2) || refusal.Why != `rule "spam" of repotest` {
		t.Errorf("insert: %+v, %v; want a refusal that shows a row, and names the rule", refusal, err)
	}
}

func TestLateAfterSomeCalls(t *testing.T) {
	table := notes()
	s := wrap(t, table, &repotest.Options{Rules: []repotest.Rule{{On: repotest.Commit, Nth: 1, Fault: repotest.Late, After: 2}}})
	ops := put(table, 1, driver.Any)
	if _, err := s.Commit(t.Context(), driver.NewToken(), ops); !errors.Is(err, driver.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	ops[0].Row.Fields[0] = driver.StringValue("the caller's slice, used again")
	var seen []bool
	for range 4 {
		seen = append(seen, there(t, s, table, 1))
	}
	if want := []bool{false, false, true, true}; !slices.Equal(seen, want) {
		t.Errorf("seen by the calls after it: %v, want %v", seen, want)
	}
	rows := make([]driver.Row, 1)
	if err := s.Get(t.Context(), table, []driver.Key{key(1)}, nil, rows); err != nil || rows[0].Fields[0].Str() != "text" {
		t.Errorf("done late: %v, %v; want what was given at first", rows[0].Fields, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	table := notes()
	s := wrap(t, table, &repotest.Options{Rules: []repotest.Rule{
		{On: repotest.Commit, Share: 0.2, Fault: repotest.Late, After: 3},
		{On: repotest.Commit, Share: 0.2, Fault: repotest.LostAnswer},
		{On: repotest.Get, Every: 5, Fault: repotest.Unavailable, Delay: time.Microsecond, Jitter: time.Microsecond},
	}})
	var group sync.WaitGroup
	var mu sync.Mutex
	acked := map[int]bool{}
	for w := range 8 {
		group.Go(func() {
			for i := range 100 {
				id := 1000*w + i
				if refusal, err := s.Commit(t.Context(), driver.NewToken(), put(table, id, driver.Absent)); refusal == nil && err == nil {
					mu.Lock()
					acked[id] = true
					mu.Unlock()
				}
				s.Get(t.Context(), table, []driver.Key{key(id)}, nil, make([]driver.Row, 1))
			}
		})
	}
	group.Wait()
	s.Release()
	if err := s.Set(); err != nil {
		t.Fatal(err)
	}
	if len(acked) < 200 || len(acked) > 700 {
		t.Errorf("%d of 800 commits were acknowledged, want about 500", len(acked))
	}
	for id := range acked {
		if !there(t, s, table, id) {
			t.Errorf("note %d was acknowledged and is not there", id)
		}
	}
}
