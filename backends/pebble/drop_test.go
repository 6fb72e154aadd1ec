package pebble

import (
	"errors"
	"testing"
	"time"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo/driver"
)

// opened returns a store in memory with one table that has a row.
func opened(t *testing.T) (*Store, *driver.Table, []driver.Op) {
	t.Helper()
	s, err := Open("", &Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	table := &driver.Table{Name: "t", Partition: []driver.Column{{Name: "p", Kind: driver.String}}}
	if err := s.Define(t.Context(), []*driver.Table{table}); err != nil {
		t.Fatal(err)
	}
	put := []driver.Op{{Do: driver.Put, Table: table, Row: driver.Row{Key: driver.Key{Partition: "a#"}}}}
	if _, err := s.Commit(t.Context(), driver.NewToken(), put); err != nil {
		t.Fatal(err)
	}
	return s, table, put
}

// TestDropWaitsForCommitsAndRemovesRows holds the lock of some row.
func TestDropWaitsForCommitsAndRemovesRows(t *testing.T) {
	s, table, _ := opened(t)
	rows := func() (n int) {
		it, err := s.in.db.NewIter(&pebbledb.IterOptions{LowerBound: []byte(catalogEnd)})
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		for it.First(); it.Valid(); it.Next() {
			n++
		}
		return n
	}
	if rows() != 1 {
		t.Fatalf("%d rows, want 1", rows())
	}
	s.in.locks.all[7].Lock()
	done := make(chan error)
	go func() { done <- s.Drop(t.Context(), []*driver.Table{table}) }()
	select {
	case err := <-done:
		t.Fatalf("Drop = %v although a commit is under way", err)
	case <-time.After(50 * time.Millisecond):
	}
	s.in.locks.all[7].Unlock()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if rows() != 0 {
		t.Errorf("%d rows are left", rows())
	}
}

// TestCommitThatMeetsADrop lets a table be dropped while a commit that knows it
// already waits for its locks.
func TestCommitThatMeetsADrop(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		s, _, put := opened(t)
		s.in.locks.lockAll()
		done := make(chan error)
		go func() {
			_, err := s.Commit(t.Context(), driver.NewToken(), put)
			done <- err
		}()
		select {
		case err := <-done:
			t.Fatalf("Commit = %v although all rows are locked", err)
		case <-time.After(50 * time.Millisecond):
		}
		s.in.tables["t"].dropped = dropped // as Drop does
		s.in.locks.unlockAll()
		if err := <-done; errors.Is(err, driver.ErrInvalid) != dropped || !dropped && err != nil {
			t.Errorf("dropped %v: Commit = %v", dropped, err)
		}
	}
}
