package pebble_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// A smallDisk has room for so many bytes. Files that are removed do not give
// their room back; a test gives some. A write that does not fit is done in part.
type smallDisk struct {
	vfs.FS
	free  atomic.Int64
	tells bool // how much is free
}

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return &smallFile{f, d}, err
}

func (d *smallDisk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, c)
	return &smallFile{f, d}, err
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	if !d.tells {
		return vfs.DiskUsage{}, vfs.ErrUnsupported
	}
	return vfs.DiskUsage{AvailBytes: uint64(max(0, d.free.Load())), TotalBytes: 100 << 20}, nil
}

type smallFile struct {
	vfs.File
	disk *smallDisk
}

func (f *smallFile) Write(p []byte) (int, error) {
	over := -f.disk.free.Add(-int64(len(p)))
	if over <= 0 {
		return f.File.Write(p)
	}
	f.disk.free.Add(int64(len(p)))
	n, err := f.File.Write(p[:max(0, int64(len(p))-over)])
	return n, errors.Join(err, syscall.ENOSPC)
}

// fill inserts notes until one is not acknowledged, and returns its error.
func (l *ledger) fill(s driver.Store, tables []*driver.Table, from int) error {
	for id := from; id < from+100000; id++ {
		if err := l.insert(s, tables, id, 20<<10); err != nil {
			return err
		}
	}
	return nil
}

// TestFullDisk refuses commits in time, and goes on when there is space again.
func TestFullDisk(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem(), tells: true}
	disk.free.Store(8 << 20) // of which 5 MB are the reserve
	tables := noteTables()
	s := mustOpen(t, "/data", &pebble.Options{FS: disk}, tables)
	var l ledger
	for round := range 3 {
		err := l.fill(s, tables, 100000*round)
		if !errors.Is(err, driver.ErrFull) || errors.Is(err, driver.ErrUnknownOutcome) {
			t.Fatalf("round %d: %v, want ErrFull", round, err)
		}
		if text := err.Error(); !strings.Contains(text, "/data") || !strings.Contains(text, "free some space") {
			t.Errorf("%q names neither the directory nor the remedy", text)
		}
		if err := l.readable(s, tables); err != nil {
			t.Error(err)
		}
		disk.free.Store(8 << 20)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	disk.free.Store(100 << 20) // how much it takes to open depends on the size of the log
	if err := l.check(mustOpen(t, "/data", &pebble.Options{FS: disk}, tables), tables); err != nil {
		t.Error(err)
	}
}

// TestDiskFilledByAnother fills the disk so that even the log has no space: what
// was acknowledged is there when there is space again.
func TestDiskFilledByAnother(t *testing.T) {
	for _, tells := range []bool{true, false} {
		disk := &smallDisk{FS: vfs.NewMem(), tells: tells}
		disk.free.Store(100 << 20)
		tables := noteTables()
		s := mustOpen(t, "/data", &pebble.Options{FS: disk}, tables)
		var l ledger
		for id := range 10 {
			if err := l.insert(s, tables, id, 100); err != nil {
				t.Fatal(err)
			}
		}
		disk.free.Store(50 << 10)
		if err := l.fill(s, tables, 100); !errors.Is(err, driver.ErrUnknownOutcome) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("commit without space for the log = %v, want ErrUnknownOutcome", err)
		}
		if err := l.insert(s, tables, 5000, 10); !errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("commit after it = %v, want ErrUnavailable", err)
		}
		within(t, "Close", func() { s.Close() })
		disk.free.Store(0)
		if _, err := pebble.Open("/data", &pebble.Options{FS: disk}); !errors.Is(err, driver.ErrFull) {
			t.Errorf("Open on a full disk = %v, want ErrFull", err)
		}
		disk.free.Store(100 << 20)
		if err := l.check(mustOpen(t, "/data", &pebble.Options{FS: disk}, tables), tables); err != nil {
			t.Error(err)
		}
	}
}

const rawPebble = "POLYSTORE_TEST_RAW_PEBBLE"

// TestPebbleAloneEndsTheProcess is the control of the tests above: it does to
// Pebble what they do to the store, in a process of its own.
func TestPebbleAloneEndsTheProcess(t *testing.T) {
	if os.Getenv(rawPebble) != "" {
		failRawPebble(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPebbleAloneEndsTheProcess$")
	cmd.Env = append(os.Environ(), rawPebble+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "input/output error") {
		t.Errorf("the process ended with %v:\n%s", err, out)
	}
}

func failRawPebble(t *testing.T) {
	f := &fault{err: syscall.EIO, files: ".log"}
	db, err := pebbledb.Open("/data", &pebbledb.Options{FS: errorfs.Wrap(vfs.NewMem(), f), Logger: pebbledb.DefaultLogger})
	if err != nil {
		t.Fatal(err)
	}
	f.on.Store(true)
	for range 100 {
		db.Set([]byte("key"), make([]byte, 64<<10), pebbledb.Sync)
	}
	io.WriteString(os.Stdout, "Pebble goes on")
}
