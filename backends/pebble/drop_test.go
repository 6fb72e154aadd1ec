package pebble

import (
	"errors"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// TestCommitThatMeetsADrop lets a table be dropped while a commit that knows it
// already waits for its locks.
func TestCommitThatMeetsADrop(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		s, err := Open("", &Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		table := &driver.Table{Name: "t", Partition: []driver.Column{{Name: "p", Kind: driver.String}}}
		if err := s.Define(t.Context(), []*driver.Table{table}); err != nil {
			t.Fatal(err)
		}
		s.locks.lockAll()
		done := make(chan error)
		go func() {
			_, err := s.Commit(t.Context(), driver.NewToken(), []driver.Op{{Do: driver.Put, Table: table, Row: driver.Row{Key: driver.Key{Partition: "a#"}}}})
			done <- err
		}()
		select {
		case err := <-done:
			t.Fatalf("Commit = %v although all rows are locked", err)
		case <-time.After(50 * time.Millisecond):
		}
		s.tables["t"].dropped = dropped // as Drop does
		s.locks.unlockAll()
		if err := <-done; errors.Is(err, driver.ErrInvalid) != dropped || !dropped && err != nil {
			t.Errorf("dropped %v: Commit = %v", dropped, err)
		}
	}
}
