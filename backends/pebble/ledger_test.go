package pebble_test

import (
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// TestLedgerNoticesContradictions is the control of the tests that use a ledger.
func TestLedgerNoticesContradictions(t *testing.T) {
	tables := noteTables()
	s := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
	mustCommit(t, s, insertNote(tables, 1, "whole"))
	mustCommit(t, s, insertNote(tables, 2, "torn")[:2])
	tests := []struct {
		id      int
		outcome error
		want    string
	}{
		{1, nil, ""},
		{1, driver.ErrUnknownOutcome, ""},
		{1, driver.ErrFull, "is there although"},
		{2, nil, "is torn"},
		{2, driver.ErrUnknownOutcome, "is torn"},
		{3, nil, "is lost"},
		{3, driver.ErrUnknownOutcome, ""},
		{3, driver.ErrFull, ""},
	}
	for _, tt := range tests {
		l := ledger{outcome: map[int]error{tt.id: tt.outcome}}
		switch err := l.check(s, tables); {
		case tt.want == "" && err != nil:
			t.Errorf("note %d, answer %v: %v", tt.id, tt.outcome, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("note %d, answer %v: %v, want %q", tt.id, tt.outcome, err, tt.want)
		}
	}
}
