package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// A fault makes operations on files fail while it is on.
type fault struct {
	on    atomic.Bool
	err   error
	files string // part of their names
	hits  atomic.Int64
}

func (f *fault) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || !f.on.Load() || !strings.Contains(op.Path, f.files) {
		return nil
	}
	f.hits.Add(1)
	return f.err
}

func (f *fault) String() string { return f.files }

// within fails the test if do does not return soon.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		t.Fatalf("%s hangs", what)
	}
}

// TestLogThatCannotBeWritten is the worst that can happen: the log of what was
// acknowledged fails, for a while or for good, while many write.
func TestLogThatCannotBeWritten(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		t.Run(cause.Error(), func(t *testing.T) {
			disk := vfs.NewMem()
			f := &fault{err: cause, files: ".log"}
			tables := noteTables()
			s := mustOpen(t, "/data", &pebble.Options{FS: errorfs.Wrap(disk, f)}, tables)
			var l ledger
			var writers sync.WaitGroup
			for w := range 8 {
				writers.Go(func() {
					for i := range 200 {
						if i == 50 && w == 0 {
							f.on.Store(true)
						}
						l.insert(s, tables, 1000*w+i, 500)
					}
				})
			}
			within(t, "writing", writers.Wait)
			if l.count(driver.ErrUnknownOutcome) == 0 || l.count(driver.ErrUnavailable) == 0 {
				t.Errorf("%d unknown outcomes and %d refusals for unavailability, want some of both",
					l.count(driver.ErrUnknownOutcome), l.count(driver.ErrUnavailable))
			}
			f.on.Store(false) // too late
			err := l.insert(s, tables, 9999, 10)
			if !errors.Is(err, driver.ErrUnavailable) || !errors.Is(err, cause) {
				t.Errorf("commit after the failure = %v, want ErrUnavailable and %v", err, cause)
			}
			if text := err.Error(); !strings.Contains(text, "/data") || !strings.Contains(text, "open it again") {
				t.Errorf("%q names neither the directory nor the remedy", text)
			}
			if err := l.readable(s, tables); err != nil {
				t.Errorf("reading goes on: %v", err)
			}
			within(t, "Size", func() {
				if n, err := s.Size(t.Context(), tables[0]); n < 0 || err != nil {
					t.Errorf("Size = %d, %v", n, err)
				}
			})
			within(t, "Close", func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close = %v: all that was acknowledged is on disk", err)
				}
			})
			again := mustOpen(t, "/data", &pebble.Options{FS: disk}, tables)
			if err := l.check(again, tables); err != nil {
				t.Error(err)
			}
			if err := l.insert(again, tables, 9998, 10); err != nil {
				t.Errorf("commit after opening again = %v", err)
			}
		})
	}
}

// readable says which acknowledged notes a store that cannot write does not show.
func (l *ledger) readable(s driver.Store, tables []*driver.Table) error {
	for id, outcome := range l.outcome {
		rows := make([]driver.Row, 1)
		err := s.Get(context.Background(), tables[0], []driver.Key{noteKey(id)}, nil, rows)
		if err != nil || outcome == nil && rows[0].Rev.IsZero() {
			return fmt.Errorf("note %d: %v, there: %v", id, err, !rows[0].Rev.IsZero())
		}
	}
	return nil
}

// TestEveryWriteFails lets the first, the second, … write to the disk fail, once
// or from then on, and looks at what a crash leaves.
func TestEveryWriteFails(t *testing.T) {
	for _, used := range []bool{false, true} {
		for _, forGood := range []bool{false, true} {
			t.Run(fmt.Sprintf("used %v for good %v", used, forGood), func(t *testing.T) {
				t.Parallel() // mostly it waits
				kinds := map[string]bool{}
				for at := int64(0); failWrite(t, at, used, forGood, kinds); at++ {
				}
				for _, kind := range []string{"open", "unknown", "unavailable", "done"} {
					if !kinds[kind] {
						t.Errorf("no run met %q: the test does not test what it should", kind)
					}
				}
			})
		}
	}
}

// failWrite lets the write number at fail. It returns false if there is none.
func failWrite(t *testing.T, at int64, used, forGood bool, kinds map[string]bool) bool {
	disk := vfs.NewCrashableMem()
	var l ledger
	if used { // there is a log to be replayed
		tables := noteTables()
		first := mustOpen(t, "/data", &pebble.Options{FS: disk}, tables)
		for i := range 5 {
			if err := l.insert(first, tables, -1-i, 1000); err != nil {
				t.Fatal(err)
			}
		}
		before := disk
		disk = before.CrashClone(vfs.CrashCloneCfg{})
		first.Close()
	}
	var n atomic.Int64
	failing := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpLock {
			return nil
		}
		if i := n.Add(1) - 1; i == at || forGood && i > at {
			return syscall.EIO
		}
		return nil
	})
	within(t, fmt.Sprintf("failing write %d", at), func() { lifeOfAStore(t, errorfs.Wrap(disk, failing), &l, kinds) })
	s, err := pebble.Open("/data", &pebble.Options{FS: disk.CrashClone(vfs.CrashCloneCfg{})})
	if err != nil {
		t.Fatalf("after failing write %d: %v", at, err)
	}
	if err := l.check(s, noteTables()); err != nil {
		t.Errorf("after failing write %d: %v", at, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("after failing write %d: %v", at, err)
	}
	return n.Load() > at
}

// lifeOfAStore opens, writes, flushes and closes.
func lifeOfAStore(t *testing.T, files vfs.FS, l *ledger, kinds map[string]bool) {
	tables := noteTables()
	s, err := pebble.Open("/data", &pebble.Options{FS: files})
	if err != nil {
		kinds["open"] = true
		return
	}
	if err := s.Define(context.Background(), tables); err == nil {
		for i := range 6 {
			switch err := l.insert(s, tables, i, 1000); {
			case err == nil:
				kinds["done"] = true
			case errors.Is(err, driver.ErrUnknownOutcome):
				kinds["unknown"] = true
			case errors.Is(err, driver.ErrUnavailable):
				kinds["unavailable"] = true
			default:
				t.Errorf("insert = %v", err)
			}
			if i == 3 {
				s.Size(context.Background(), tables[0]) // flushes
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

// TestManifestThatCannotBeWritten fails while Pebble flushes in the background.
func TestManifestThatCannotBeWritten(t *testing.T) {
	disk := vfs.NewMem()
	f := &fault{err: syscall.EIO, files: "MANIFEST"}
	tables := noteTables()
	s := mustOpen(t, "/data", &pebble.Options{FS: errorfs.Wrap(disk, f)}, tables)
	var l ledger
	if err := l.insert(s, tables, 1, 100); err != nil {
		t.Fatal(err)
	}
	f.on.Store(true)
	within(t, "Size", func() { s.Size(t.Context(), tables[0]) })
	if f.hits.Load() == 0 {
		t.Fatal("the manifest was not written: the test does not test what it should")
	}
	if err := l.insert(s, tables, 2, 100); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("commit after the failure = %v, want ErrUnavailable", err)
	}
	if err := l.readable(s, tables); err != nil {
		t.Error(err)
	}
	within(t, "Close", func() { s.Close() })
	if err := l.check(mustOpen(t, "/data", &pebble.Options{FS: disk}, tables), tables); err != nil {
		t.Error(err)
	}
}

// TestNoSpaceForTables fills the disk for sorted tables only: commits are refused
// and go on by themselves when there is space again.
func TestNoSpaceForTables(t *testing.T) {
	disk := vfs.NewMem()
	f := &fault{err: syscall.ENOSPC, files: ".sst"}
	tables := noteTables()
	s := mustOpen(t, "/data", &pebble.Options{FS: errorfs.Wrap(disk, f)}, tables)
	var l ledger
	if err := l.insert(s, tables, 1, 100); err != nil {
		t.Fatal(err)
	}
	f.on.Store(true)
	within(t, "Size", func() { // tries to flush
		if _, err := s.Size(t.Context(), tables[0]); err != nil {
			t.Errorf("Size = %v", err)
		}
	})
	if err := l.insert(s, tables, 2, 100); !errors.Is(err, driver.ErrFull) || !strings.Contains(err.Error(), "/data") {
		t.Errorf("insert = %v, want ErrFull with the directory", err)
	}
	if err := l.check(s, tables); err != nil && !errors.Is(err, driver.ErrFull) {
		t.Errorf("while the disk is full: %v", err)
	}
	f.on.Store(false)
	within(t, "writing again", func() {
		for l.insert(s, tables, 1000, 10) != nil {
			time.Sleep(10 * time.Millisecond)
		}
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := l.check(mustOpen(t, "/data", &pebble.Options{FS: disk}, tables), tables); err != nil {
		t.Error(err)
	}
}
