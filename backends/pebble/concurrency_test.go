package pebble_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// increment reads the counters of some notes and adds one to each in one commit.
// It reports whether the commit was done.
func increment(s driver.Store, t *driver.Table, ids []int, cond driver.Cond, hints bool) (bool, error) {
	keys := make([]driver.Key, len(ids))
	for i, id := range ids {
		keys[i] = noteKey(id)
	}
	rows := make([]driver.Row, len(ids))
	if err := s.Get(context.Background(), t, keys, nil, rows); err != nil {
		return false, err
	}
	ops := make([]driver.Op, len(ids))
	for i := range ids {
		fields := []driver.Value{rows[i].Fields[0], driver.IntValue(rows[i].Fields[1].Int() + 1)}
		ops[i] = driver.Op{Do: driver.Put, Table: t, If: cond, Rev: rows[i].Rev, Row: driver.Row{Key: keys[i], Fields: fields}}
		if hints {
			ops[i].Row.Hint = rows[i].Hint
		}
	}
	refusal, err := s.Commit(context.Background(), driver.NewToken(), ops)
	return refusal == nil, err
}

const counters = 5

// count lets many increment the same few counters, several in one commit and in
// every order. It returns by how much what was acknowledged and what is there in
// the end differ, and how many commits were refused.
func count(t *testing.T, cond driver.Cond, hints bool) (missing, refused int64) {
	t.Helper()
	tables := noteTables()
	s := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
	for id := range counters {
		ops := insertNote(tables, id, "counter")
		ops[0].Row.Fields[1] = driver.IntValue(0)
		mustCommit(t, s, ops)
	}
	var done, refusals atomic.Int64
	var group sync.WaitGroup
	for w := range 8 {
		rng := rand.New(rand.NewPCG(uint64(w), 7))
		group.Go(func() {
			for range 300 {
				ids := rng.Perm(counters)[:1+rng.IntN(3)]
				switch ok, err := increment(s, tables[0], ids, cond, hints); {
				case err != nil:
					t.Error(err)
					return
				case ok:
					done.Add(int64(len(ids)))
				default:
					refusals.Add(1)
				}
			}
		})
	}
	within(t, "incrementing", group.Wait)
	missing = done.Load()
	for id := range counters {
		missing -= mustGet(t, s, tables[0], noteKey(id)).Fields[1].Int()
	}
	return missing, refusals.Load()
}

func TestCountersAddUp(t *testing.T) {
	for _, hints := range []bool{false, true} {
		missing, refused := count(t, driver.AtRev, hints)
		if missing != 0 {
			t.Errorf("hints %v: %d acknowledged increments are missing", hints, missing)
		}
		if refused == 0 {
			t.Errorf("hints %v: nothing was refused: the writers did not meet", hints)
		}
	}
}

// TestCountersWithoutConditionsDoNotAddUp is the control.
func TestCountersWithoutConditionsDoNotAddUp(t *testing.T) {
	for range 10 {
		if missing, _ := count(t, driver.Any, false); missing > 0 {
			return
		}
	}
	t.Error("no increment was lost in ten rounds: the test does not test what it should")
}

// TestCommitsAreIsolated moves amounts between notes while others read sums: a
// commit of Checks sees all of a commit or nothing.
func TestCommitsAreIsolated(t *testing.T) {
	tables := noteTables()
	s := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
	for id := range 4 {
		ops := insertNote(tables, id, "account")
		ops[0].Row.Fields[1] = driver.IntValue(100)
		mustCommit(t, s, ops)
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() { move(t, s, tables[0], rand.New(rand.NewPCG(uint64(w), 8)), stop) })
	}
	agreed := 0
	for range 2000 {
		rows := make([]driver.Row, 4)
		keys := []driver.Key{noteKey(0), noteKey(1), noteKey(2), noteKey(3)}
		if err := s.Get(t.Context(), tables[0], keys, nil, rows); err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		checks := make([]driver.Op, 4)
		for i, r := range rows {
			sum += r.Fields[1].Int()
			checks[i] = driver.Op{Do: driver.Check, If: driver.AtRev, Rev: r.Rev, Table: tables[0], Row: driver.Row{Key: keys[i]}}
		}
		refusal, err := s.Commit(t.Context(), driver.NewToken(), checks)
		if err != nil {
			t.Fatal(err)
		}
		if refusal == nil { // all four were like this at one moment
			agreed++
			if sum != 400 {
				t.Fatalf("the sum is %d", sum)
			}
		}
	}
	close(stop)
	within(t, "moving", group.Wait)
	if agreed == 0 {
		t.Error("no read met a quiet moment: nothing was tested")
	}
}

// move moves amounts between notes until it is told to stop.
func move(t *testing.T, s driver.Store, table *driver.Table, rng *rand.Rand, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		ids, amount := rng.Perm(4)[:2], rng.Int64N(50)
		ops := make([]driver.Op, 2)
		for i, add := range []int64{amount, -amount} {
			ops[i] = driver.Op{Do: driver.Patch, If: driver.Present, Table: table, Row: driver.Row{Key: noteKey(ids[i])},
				Edits: []driver.Edit{{Do: driver.Add, Field: 1, Value: driver.IntValue(add)}}}
		}
		if refusal, err := s.Commit(context.Background(), driver.NewToken(), ops); refusal != nil || err != nil {
			t.Errorf("move = %+v, %v", refusal, err)
			return
		}
	}
}

// TestHintsAreTrustedForWhatWasReadOnly passes hints that belong to something
// else, or to a time that is over.
func TestHintsAreTrustedForWhatWasReadOnly(t *testing.T) {
	tables := noteTables()
	s := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
	other := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
	rev1 := mustCommit(t, s, insertNote(tables, 1, "old"))
	mustCommit(t, other, insertNote(tables, 1, "old"))
	old := mustGet(t, s, tables[0], noteKey(1))
	absent := mustGet(t, s, tables[0], noteKey(2))
	update := driver.Op{Do: driver.Put, If: driver.AtRev, Rev: rev1, Table: tables[0], Row: driver.Row{Key: noteKey(1), Hint: old.Hint}}
	rev2 := mustCommit(t, s, []driver.Op{update}) // the control: the hint is good, and it is used up now
	now := mustGet(t, s, tables[0], noteKey(1))
	foreign := mustGet(t, other, tables[0], noteKey(1))
	tests := []struct {
		name string
		cond driver.Cond
		rev  driver.Token
		id   int
		hint uint64
		want bool
	}{
		{"an old hint", driver.AtRev, rev1, 1, old.Hint, false},
		{"the hint of now with the old version", driver.AtRev, rev1, 1, now.Hint, false},
		{"the hint of now with no version", driver.AtRev, driver.Token{}, 1, now.Hint, false},
		{"a hint of another row", driver.AtRev, rev2, 3, now.Hint, false},
		{"a hint of another store", driver.AtRev, rev1, 1, foreign.Hint, false},
		{"any number", driver.AtRev, rev1, 1, 12345, false},
		{"the hint of an absent row for a version", driver.AtRev, driver.Token{}, 2, absent.Hint, false},
		{"the hint of a row for absence", driver.Absent, driver.Token{}, 1, now.Hint, false},
		{"the hint of absence for another row", driver.Absent, driver.Token{}, 1, absent.Hint, false},
		{"the hint of absence", driver.Absent, driver.Token{}, 2, absent.Hint, true},
		{"the hint of now", driver.AtRev, rev2, 1, now.Hint, true},
		{"no hint", driver.AtRev, rev2, 1, 0, true},
	}
	for _, tt := range tests {
		op := driver.Op{Do: driver.Check, If: tt.cond, Rev: tt.rev, Table: tables[0], Row: driver.Row{Key: noteKey(tt.id), Hint: tt.hint}}
		refusal, err := s.Commit(t.Context(), driver.NewToken(), []driver.Op{op})
		if err != nil || (refusal == nil) != tt.want {
			t.Errorf("%s: %+v, %v; want it to hold: %v", tt.name, refusal, err, tt.want)
		}
	}
}

// TestWhatWasJustReadIsNotReadAgain commits by the version of a row, without a hint.
func TestWhatWasJustReadIsNotReadAgain(t *testing.T) {
	tables := noteTables()
	s := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
	check := driver.Op{Do: driver.Check, If: driver.AtRev, Table: tables[0], Row: driver.Row{Key: noteKey(1)}}
	reads := func(when string, want bool) {
		t.Helper()
		if got, err := s.Reads(check); err != nil || got != want {
			t.Errorf("%s: the commit reads the row: %v, %v; want %v", when, got, err, want)
		}
	}
	old := mustCommit(t, s, insertNote(tables, 1, "old"))
	check.Rev = old
	reads("before it was read", true)
	mustGet(t, s, tables[0], noteKey(1))
	reads("after it was read", false)
	check.Rev = driver.NewToken()
	reads("with another version", true)
	check.Rev = driver.Token{}
	reads("with no version", true)
	update := driver.Op{Do: driver.Put, If: driver.AtRev, Rev: old, Table: tables[0], Row: driver.Row{Key: noteKey(1)}}
	check.Rev = mustCommit(t, s, []driver.Op{update})
	reads("after it was written", true)
	check.Rev = old
	reads("after it was written, with the old version", true)
	mustGet(t, s, tables[0], noteKey(1))
	reads("after it was read again, with the old version", true)
	check.If, check.Row.Key = driver.Absent, noteKey(2)
	mustGet(t, s, tables[0], noteKey(2))
	reads("after it was found absent", false)
	mustCommit(t, s, insertNote(tables, 2, "new"))
	reads("after it came to be", true)
}
