package main

import (
	"reflect"
	"testing"
)

// Each fault is seen in a state, or at a call, that has it, and not in one that
// differs by what makes it a fault.
func TestFaultsAreSeen(t *testing.T) {
	held := func() State { // record 0 is live with A and U
		_, s := (&Scenario{start: filled}).begin(correct)
		return s
	}
	commit := Message{verb: doCommit, tok: 2, when: firstToken, next: Record{status: tombstone, rev: 2, ring: [2]uint8{2, firstToken}}}
	apply := func(s *State, g Message) { (&Protocol{}).apply(s, &g) }
	look := func(s *State) { newJudge(&Protocol{}).inspect(s) }
	sweep := func(s *State) { s.fail(true, newJudge(&Protocol{mutant: pendingStays}).tidies(s)) }
	tests := []struct {
		fault uint8
		spoil func(*State)
		check func(*State)
	}{
		{faultNone, func(*State) {}, look},
		{faultNone, func(*State) {}, sweep},
		{faultNone, func(*State) {}, func(s *State) { apply(s, commit) }},
		{faultBack, func(s *State) { s.committed.add(2) }, func(s *State) { apply(s, commit) }},
		{faultLate, func(s *State) { s.refused.add(2) }, func(s *State) { apply(s, commit) }},
		{faultTwice, func(s *State) { s.applied[0] = 1 }, func(s *State) { apply(s, commit) }},
		{faultLost, func(s *State) { s.records[0].ring[0] = 3 }, func(s *State) { apply(s, commit) }},
		{faultYes, func(s *State) { s.records[0].ring[0] = 3 }, func(s *State) { (&Protocol{}).resolve(s, &s.records[0], write{tok: 3}) }},
		{faultNo, func(s *State) { s.committed.add(3) }, func(s *State) { (&Protocol{}).resolve(s, &s.records[0], write{tok: 3, rev: 4, version: 1}) }},
		{faultRow, func(s *State) { s.rows[firstToken].value = valueB }, look},
		{faultClaim, func(s *State) { s.claim.tok = 2 }, look},
		{faultTwo, func(s *State) { s.records[1] = s.records[0] }, look},
		{faultGarbage, func(s *State) { s.rows[2] = Row{there, valueB, 0, firstToken} }, sweep},
		{faultNone, func(s *State) { s.rows[2] = Row{there, valueB, 0, 3} }, sweep},
		{faultNone, func(s *State) { s.rows[2] = Row{fading, valueB, 0, firstToken} }, sweep},
	}
	for k, tt := range tests {
		s := held()
		tt.spoil(&s)
		if tt.check(&s); s.fault != tt.fault {
			t.Errorf("test %d: fault %d %q, want %d", k, s.fault, faultText[s.fault], tt.fault)
		}
	}
}

// Each fault that is not made by hand above is that of a mutant.
func TestFaultsOfMutants(t *testing.T) {
	want := map[Mutant]string{
		readerWantsRev: faultText[faultMiss], readerTrustsRow: faultText[faultFalse], readerTrustsClaim: faultText[faultUnique],
		scanAnyRow: faultText[faultPlace], scanRepeats: faultText[faultRepeat], pendingBlocks: faultText[faultBlocked], fenceIsWrite: faultText[faultSwept],
		patchUnread: faultText[faultUnsettled],
	}
	for mutant, fault := range want {
		if r := explore(scenarioNamed(mutants[mutant].scenario), mutant, 1_000_000); r.fault != fault {
			t.Errorf("%s: %s, want %s", mutants[mutant].name, r.end(), fault)
		}
	}
}

// States are hashed as memory, so they must be made of bytes without gaps.
func TestStateIsBytes(t *testing.T) {
	var count func(reflect.Type) int
	count = func(typ reflect.Type) (n int) {
		switch typ.Kind() {
		case reflect.Uint8:
			return 1
		case reflect.Array:
			return typ.Len() * count(typ.Elem())
		case reflect.Struct:
			for k := range typ.NumField() {
				n += count(typ.Field(k).Type)
			}
			return n
		}
		t.Errorf("a state has a %s", typ)
		return 0
	}
	if typ := reflect.TypeFor[State](); count(typ) != int(typ.Size()) {
		t.Errorf("a state has %d bytes and takes %d", count(typ), typ.Size())
	}
}

func TestHashes(t *testing.T) {
	h := newHashes()
	var s State
	b := raw(&s)
	for k := range b {
		for x := range 256 {
			b[k] = uint8(x)
			if added := h.add(b); added != (x != 0 || k == 0) {
				t.Fatalf("byte %d is %d: added %v", k, x, added)
			}
		}
		b[k] = 0
	}
	if want := 1 + 255*len(b); h.n != want {
		t.Errorf("%d states, want %d", h.n, want)
	}
}
