package pebble_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// calls calls every method and returns their errors.
func calls(ctx context.Context, s *pebble.Store, tables []*driver.Table, id int) map[string]error {
	errs := map[string]error{"Range": nil, "Walk": nil}
	t, k := tables[0], noteKey(id)
	errs["Get"] = s.Get(ctx, t, []driver.Key{k}, nil, make([]driver.Row, 1))
	_, errs["Commit"] = s.Commit(ctx, driver.NewToken(), insertNote(tables, id, "x"))
	for _, err := range s.Range(ctx, driver.Span{Table: t, Key: k}) {
		errs["Range"] = err
	}
	for _, err := range s.Walk(ctx, t, "") {
		errs["Walk"] = err
	}
	_, errs["Count"] = s.Count(ctx, driver.Span{Table: t, Key: k})
	_, errs["Size"] = s.Size(ctx, t)
	errs["Define"] = s.Define(ctx, tables)
	errs["Attach"] = s.Attach(ctx, tables)
	errs["Drop"] = s.Drop(ctx, nil)
	return errs
}

func TestUseAfterClose(t *testing.T) {
	tables := noteTables()
	s := mustOpen(t, t.TempDir(), nil, tables)
	for name, err := range calls(t.Context(), s, tables, 1) { // the control
		if err != nil {
			t.Errorf("%s before Close = %v", name, err)
		}
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatalf("Close = %v", err)
		}
	}
	for name, err := range calls(t.Context(), s, tables, 2) {
		if !errors.Is(err, driver.ErrClosed) {
			t.Errorf("%s after Close = %v, want ErrClosed", name, err)
		}
	}
	if s.Facts().Name != "pebble" {
		t.Error("a closed store does not know its facts")
	}
}

// TestCloseDuringLoops closes the store inside a loop, and while others are
// suspended.
func TestCloseDuringLoops(t *testing.T) {
	tables := noteTables()
	s := mustOpen(t, t.TempDir(), nil, tables)
	for id := range 700 {
		mustCommit(t, s, insertNote(tables, id, "x"))
	}
	span := driver.Span{Table: tables[0], Key: noteKey(0)}
	next, stop := iter.Pull2(s.Range(t.Context(), span))
	defer stop()
	if _, err, ok := next(); err != nil || !ok {
		t.Fatalf("first row: %v, %v", err, ok)
	}
	nextChunk, stopWalk := iter.Pull2(s.Walk(t.Context(), tables[0], ""))
	defer stopWalk()
	if _, err, ok := nextChunk(); err != nil || !ok {
		t.Fatalf("first chunk: %v, %v", err, ok)
	}
	n := 0
	var last error
	within(t, "Close in a loop", func() {
		for r, err := range s.Range(t.Context(), span) {
			if err != nil {
				last = err
				continue
			}
			if n++; n == 3 {
				if err := s.Close(); err != nil {
					t.Errorf("Close = %v", err)
				}
			}
			if r.Fields[0].Str() != "x" {
				t.Errorf("row %d reads %q", n, r.Fields[0].Str())
			}
		}
	})
	if n != 3 || !errors.Is(last, driver.ErrClosed) {
		t.Errorf("the loop yields %d rows and %v, want 3 and ErrClosed", n, last)
	}
	if _, err, ok := next(); !ok || !errors.Is(err, driver.ErrClosed) {
		t.Errorf("the suspended loop goes on with %v, %v, want ErrClosed", err, ok)
	}
	if _, err, ok := nextChunk(); !ok || !errors.Is(err, driver.ErrClosed) {
		t.Errorf("the suspended walk goes on with %v, %v, want ErrClosed", err, ok)
	}
}

// TestCloseDuringCalls closes while all methods are in use by many.
func TestCloseDuringCalls(t *testing.T) {
	for _, opts := range []*pebble.Options{nil, {NoSync: true}} {
		dir := t.TempDir()
		tables := noteTables()
		s := mustOpen(t, dir, opts, tables)
		var l ledger
		var group sync.WaitGroup
		started := make(chan bool, 100)
		for w := range 6 {
			group.Go(func() {
				for i := 0; ; i++ {
					err := l.insert(s, tables, 1000000*w+i, 100)
					if w >= 4 {
						for _, e := range calls(context.Background(), s, tables, 1000000*w+i) {
							err = errors.Join(err, e)
						}
					}
					if errors.Is(err, driver.ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("before Close: %v", err)
						return
					}
					select {
					case started <- true:
					default:
					}
				}
			})
		}
		for range 50 {
			<-started
		}
		within(t, "Close", func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
			group.Wait()
		})
		if err := l.check(mustOpen(t, dir, opts, tables), tables); err != nil {
			t.Error(err)
		}
	}
}
