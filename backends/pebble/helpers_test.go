package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

var (
	_ driver.Store   = (*pebble.Store)(nil)
	_ driver.Counter = (*pebble.Store)(nil)
	_ driver.Sizer   = (*pebble.Store)(nil)
)

// noteTables are records and two tables of index rows.
func noteTables() []*driver.Table {
	part := []driver.Column{{Name: "p", Kind: driver.String}}
	sort := []driver.Column{{Name: "s", Kind: driver.String}}
	fields := []driver.Column{{Name: "text", Kind: driver.String}, {Name: "n", Kind: driver.Int}}
	records := &driver.Table{Name: "notes", Partition: part, Sort: sort, Fields: fields}
	return []*driver.Table{
		records,
		{Name: "notes.one", Class: driver.Rows, Home: records, Partition: part, Sort: sort},
		{Name: "notes.two", Class: driver.Rows, Partition: part, Sort: sort, Fields: fields},
	}
}

func noteKey(id int) driver.Key {
	return driver.Key{Partition: fmt.Sprintf("p%d#", id%7), Sort: fmt.Sprintf("%08d#", id)}
}

// insertNote makes the ops of a record with its index rows.
func insertNote(tables []*driver.Table, id int, text string) []driver.Op {
	ops := make([]driver.Op, len(tables))
	for i, t := range tables {
		ops[i] = driver.Op{Do: driver.Put, Table: t, Row: driver.Row{Key: noteKey(id)}}
		if len(t.Fields) > 0 {
			ops[i].Row.Fields = []driver.Value{driver.StringValue(text), driver.IntValue(int64(id))}
		}
	}
	ops[0].If = driver.Absent
	return ops
}

// mustOpen opens a store that knows the tables. It is closed when the test ends.
func mustOpen(t testing.TB, dir string, opts *pebble.Options, tables []*driver.Table) *pebble.Store {
	t.Helper()
	s, err := pebble.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Define(context.Background(), tables); err != nil {
		t.Fatal(err)
	}
	return s
}

func mustCommit(t testing.TB, s driver.Store, ops []driver.Op) driver.Token {
	t.Helper()
	token := driver.NewToken()
	refusal, err := s.Commit(context.Background(), token, ops)
	if refusal != nil || err != nil {
		t.Fatalf("Commit = %+v, %v", refusal, err)
	}
	return token
}

func mustGet(t testing.TB, s driver.Store, table *driver.Table, k driver.Key) driver.Row {
	t.Helper()
	rows := make([]driver.Row, 1)
	if err := s.Get(context.Background(), table, []driver.Key{k}, nil, rows); err != nil {
		t.Fatal(err)
	}
	return rows[0]
}

// A ledger is what was answered to the inserts of notes.
type ledger struct {
	mu      sync.Mutex
	outcome map[int]error // nil is acknowledged
}

func (l *ledger) insert(s driver.Store, tables []*driver.Table, id, size int) error {
	text := strings.Repeat("x", size)
	refusal, err := s.Commit(context.Background(), driver.NewToken(), insertNote(tables, id, text))
	if refusal != nil {
		err = fmt.Errorf("note %d was refused: %w", id, driver.ErrExists)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.outcome == nil {
		l.outcome = map[int]error{}
	}
	l.outcome[id] = err
	return err
}

func (l *ledger) count(kind error) int {
	n := 0
	for _, err := range l.outcome {
		if errors.Is(err, kind) {
			n++
		}
	}
	return n
}

// check says what a store holds that contradicts the answers: acknowledged notes
// must be there, refused ones not, and none in part.
func (l *ledger) check(s driver.Store, tables []*driver.Table) error {
	if err := s.Define(context.Background(), tables); err != nil {
		return err
	}
	var faults []error
	for id, outcome := range l.outcome {
		there := 0
		for _, t := range tables {
			rows := make([]driver.Row, 1)
			if err := s.Get(context.Background(), t, []driver.Key{noteKey(id)}, nil, rows); err != nil {
				return err
			}
			if !rows[0].Rev.IsZero() {
				there++
			}
		}
		switch {
		case there != 0 && there != len(tables):
			faults = append(faults, fmt.Errorf("note %d is torn: %d of %d rows", id, there, len(tables)))
		case outcome == nil && there == 0:
			faults = append(faults, fmt.Errorf("note %d was acknowledged and is lost", id))
		case outcome != nil && !errors.Is(outcome, driver.ErrUnknownOutcome) && there > 0:
			faults = append(faults, fmt.Errorf("note %d is there although the answer was %w", id, outcome))
		}
	}
	return errors.Join(faults...)
}
