package pebble_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// A barrier holds up operations on some files until it is opened.
type barrier struct {
	mu    sync.Mutex
	shut  chan struct{} // nil: open
	kinds []errorfs.OpKind
	files string
}

func (b *barrier) String() string { return b.files }

func (b *barrier) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut = make(chan struct{})
}

func (b *barrier) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.shut)
	b.shut = nil
}

func (b *barrier) MaybeError(op errorfs.Op) error {
	b.mu.Lock()
	shut := b.shut
	b.mu.Unlock()
	for _, k := range b.kinds {
		if shut != nil && op.Kind == k && strings.Contains(op.Path, b.files) {
			<-shut
		}
	}
	return nil
}

func TestEndedContextDoesNothing(t *testing.T) {
	tables := noteTables()
	s := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range calls(ctx, s, tables, 1) {
		if !errors.Is(err, driver.ErrTimeout) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want ErrTimeout and context.Canceled", name, err)
		}
	}
	if r := mustGet(t, s, tables[0], noteKey(1)); !r.Rev.IsZero() {
		t.Error("a commit was done although its context had ended")
	}
}

func TestContextEndsDuringALoop(t *testing.T) {
	tables := noteTables()
	s := mustOpen(t, "", &pebble.Options{InMemory: true}, tables)
	for id := range 70 {
		mustCommit(t, s, insertNote(tables, id, "x"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range s.Range(ctx, driver.Span{Table: tables[0], Key: noteKey(0)}) {
		n++
		last = err
		if n == 2 {
			cancel()
		}
	}
	if n != 3 || !errors.Is(last, driver.ErrTimeout) || !errors.Is(last, context.Canceled) {
		t.Errorf("%d steps, then %v; want 3 and ErrTimeout with context.Canceled", n, last)
	}
}

// TestSlowDisk waits for a disk that takes its time, as long as the context lasts.
func TestSlowDisk(t *testing.T) {
	disk := vfs.NewMem()
	b := &barrier{files: ".log", kinds: []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileWrite}}
	tables := noteTables()
	opts := &pebble.Options{FS: errorfs.Wrap(disk, b)}
	s := mustOpen(t, "/data", opts, tables)
	b.close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var err error
	within(t, "Commit", func() { _, err = s.Commit(ctx, driver.NewToken(), insertNote(tables, 1, "x")) })
	if !errors.Is(err, driver.ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrTimeout) {
		t.Errorf("Commit = %v, want ErrUnknownOutcome with context.DeadlineExceeded", err)
	}
	done := make(chan error)
	go func() { // the control: without a deadline it waits, and succeeds
		_, err := s.Commit(context.WithoutCancel(ctx), driver.NewToken(), insertNote(tables, 2, "x"))
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("Commit = %v before the disk has answered", err)
	case <-time.After(50 * time.Millisecond):
	}
	b.open()
	if err := <-done; err != nil {
		t.Errorf("Commit = %v after the disk has answered", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again := mustOpen(t, "/data", opts, tables)
	for _, id := range []int{1, 2} { // the first was done late
		if r := mustGet(t, again, tables[0], noteKey(id)); r.Rev.IsZero() {
			t.Errorf("note %d is not there", id)
		}
	}
}

// TestChecksAreAsDurableAsChanges looks, by a Check and by a commit sent again, at
// a row that is visible but not on disk yet.
func TestChecksAreAsDurableAsChanges(t *testing.T) {
	b := &barrier{files: ".log", kinds: []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData}}
	tables := noteTables()
	tables[0].Ring = 2
	s := mustOpen(t, "/data", &pebble.Options{FS: errorfs.Wrap(vfs.NewMem(), b)}, tables)
	token, ops := driver.NewToken(), insertNote(tables, 1, "x")
	look := map[string]func(time.Duration) error{
		"check": func(lasts time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), lasts)
			defer cancel()
			check := driver.Op{Do: driver.Check, If: driver.Present, Table: tables[0], Row: driver.Row{Key: noteKey(1)}}
			refusal, err := s.Commit(ctx, driver.NewToken(), []driver.Op{check})
			if refusal != nil {
				t.Error("the row is not visible")
			}
			return err
		},
		"sent again": func(lasts time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), lasts)
			defer cancel()
			refusal, err := s.Commit(ctx, token, ops)
			if refusal != nil {
				t.Error("sent again it is refused")
			}
			return err
		},
	}
	b.close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Commit(ctx, token, ops); !errors.Is(err, driver.ErrUnknownOutcome) {
		t.Fatalf("Commit = %v", err)
	}
	for name, look := range look {
		if err := look(50 * time.Millisecond); !errors.Is(err, driver.ErrUnknownOutcome) {
			t.Errorf("%s while the row is not on disk = %v, want ErrUnknownOutcome", name, err)
		}
	}
	b.open()
	mustCommit(t, s, insertNote(tables, 2, "x")) // and so the disk is through with it
	for name, look := range look {
		if err := look(time.Minute); err != nil {
			t.Errorf("%s when it is on disk = %v", name, err)
		}
	}
}

// TestWriteStall lets Pebble fall behind with its flushes: commits wait outside,
// where their contexts can end.
func TestWriteStall(t *testing.T) {
	b := &barrier{files: ".sst", kinds: []errorfs.OpKind{errorfs.OpCreate}}
	tables := noteTables()[:1]
	s := mustOpen(t, t.TempDir(), &pebble.Options{FS: errorfs.Wrap(vfs.Default, b), NoSync: true}, tables)
	b.close()
	var writer sync.WaitGroup
	var enough atomic.Bool
	progress := make(chan int)
	text := strings.Repeat("x", 4<<20)
	writer.Go(func() { // ends up inside the stall
		for id := 0; !enough.Load(); id++ {
			mustCommit(t, s, insertNote(tables, id, text))
			select {
			case progress <- id:
			case <-time.After(time.Second): // nobody waits any more
			}
		}
	})
	for stalled := false; !stalled; {
		select {
		case id := <-progress:
			if id > 100 { // 400 MB
				t.Fatal("there is no stall")
			}
		case <-time.After(2 * time.Second):
			stalled = true
		}
	}
	enough.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	within(t, "Commit", func() {
		if _, err := s.Commit(ctx, driver.NewToken(), insertNote(tables, 1000, "x")); !errors.Is(err, driver.ErrTimeout) {
			t.Errorf("Commit during a stall = %v, want ErrTimeout", err)
		}
	})
	if r := mustGet(t, s, tables[0], noteKey(1000)); !r.Rev.IsZero() {
		t.Error("the commit was done although the answer was ErrTimeout")
	}
	b.open()
	within(t, "the writer", writer.Wait)
	mustCommit(t, s, insertNote(tables, 1000, "x"))
}
