package pebble

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A disk is the file system as Pebble sees it. Pebble panics, with its own locks
// held, when it cannot write its log, and calls Fatalf when it cannot write its
// manifest; neither leaves a store that could even be closed. So a disk hides
// such failures: at the first one it dies, tells it, and from then on pretends
// to do what changes files and does nothing. What is on the real disk stays as a
// crash would have left it.
//
// Failures to write a sorted table are hidden until the store is open: Pebble
// tries a flush again at once and for ever, and would never come back from Open.
// Later Pebble gets the error, since it keeps what it could not write in memory
// and others may read it, but the disk makes it wait a little.
type disk struct {
	vfs.FS
	opened atomic.Bool
	died   atomic.Pointer[error]
	gone   chan struct{} // closed when the disk died
}

const tablePause = 100 * time.Millisecond

var errDied = errors.New("nothing is written any more after an earlier failure")

func newDisk(fs vfs.FS) *disk { return &disk{FS: fs, gone: make(chan struct{})} }

// dead returns why nothing is written any more, or nil.
func (d *disk) dead() error {
	if err := d.died.Load(); err != nil {
		return *err
	}
	return nil
}

// die makes err the reason why nothing is written any more, unless there is one.
func (d *disk) die(err error) {
	if d.died.CompareAndSwap(nil, &err) {
		close(d.gone)
	}
}

// hide makes err, if there is one, the end of the disk.
func (d *disk) hide(doing, name string, err error) {
	if err != nil {
		d.die(fmt.Errorf("%s %s: %w", doing, name, err))
	}
}

// attempt does what changes a vital file, unless the disk is dead.
func (d *disk) attempt(doing, name string, do func() error) {
	if d.dead() == nil {
		d.hide(doing, name, do())
	}
}

// attemptTable does what writes a sorted table, unless the disk is dead.
func (d *disk) attemptTable(doing, name string, do func() error) error {
	opened := d.opened.Load()
	if d.dead() == nil {
		err := do()
		if opened {
			return slow(err)
		}
		d.hide(doing, name, err)
	}
	if opened {
		return slow(errDied)
	}
	return nil
}

// isTable says whether a file is a sorted table or a file of its values.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// slow makes Pebble wait before it tries to write a table again.
func slow(err error) error {
	if err != nil {
		time.Sleep(tablePause)
	}
	return err
}

// open opens a file to be written. After a failure that is hidden it is noFile.
func (d *disk) open(doing, name string, open func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File
	do := func() (err error) {
		f, err = open()
		return err
	}
	if isTable(name) {
		err := d.attemptTable(doing, name, do)
		if err != nil || d.dead() != nil {
			return noFile{name: name}, err
		}
		return &tableFile{File: f, disk: d, name: name}, nil
	}
	if d.attempt(doing, name, do); d.dead() != nil {
		return noFile{name: name}, nil
	}
	return &vitalFile{File: f, disk: d, name: name}, nil
}

func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("create", name, func() (vfs.File, error) { return d.FS.Create(name, category) })
}

func (d *disk) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("reuse", name, func() (vfs.File, error) { return d.FS.ReuseForWrite(old, name, category) })
}

func (d *disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return d.open("open", name, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, category, opts...) })
}

func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &vitalFile{File: f, disk: d, name: name}, nil
}

func (d *disk) Link(old, name string) error {
	d.attempt("link", name, func() error { return d.FS.Link(old, name) })
	return nil
}

func (d *disk) Rename(old, name string) error {
	d.attempt("rename", name, func() error { return d.FS.Rename(old, name) })
	return nil
}

func (d *disk) MkdirAll(dir string, perm os.FileMode) error {
	d.attempt("make directory", dir, func() error { return d.FS.MkdirAll(dir, perm) })
	return nil
}

// Remove fails as it does: Pebble can live with files that it cannot remove.
func (d *disk) Remove(name string) error {
	if d.dead() != nil {
		return nil
	}
	return d.FS.Remove(name)
}

func (d *disk) RemoveAll(name string) error {
	if d.dead() != nil {
		return nil
	}
	return d.FS.RemoveAll(name)
}

func (d *disk) Unwrap() vfs.FS { return d.FS }

// A vitalFile is one that Pebble cannot do without: a log, a manifest, a marker
// or the directory.
type vitalFile struct {
	vfs.File
	disk *disk
	name string
}

func (f *vitalFile) Write(p []byte) (int, error) {
	f.disk.attempt("write", f.name, func() error {
		_, err := f.File.Write(p)
		return err
	})
	return len(p), nil
}

func (f *vitalFile) Sync() error {
	f.disk.attempt("sync", f.name, f.File.Sync)
	return nil
}

func (f *vitalFile) SyncData() error {
	f.disk.attempt("sync", f.name, f.File.SyncData)
	return nil
}

func (f *vitalFile) SyncTo(length int64) (full bool, _ error) {
	f.disk.attempt("sync", f.name, func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, nil
}

func (f *vitalFile) Preallocate(offset, length int64) error {
	if f.disk.dead() != nil {
		return nil
	}
	return f.File.Preallocate(offset, length) // Pebble ignores the error
}

func (f *vitalFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	if err != nil {
		f.disk.hide("look at", f.name, err)
		return noFile{name: f.name}.Stat()
	}
	return info, nil
}

// Close closes the real file even if the disk is dead.
func (f *vitalFile) Close() error {
	f.disk.hide("close", f.name, f.File.Close())
	return nil
}

// A tableFile is a sorted table that is being written.
type tableFile struct {
	vfs.File
	disk *disk
	name string
}

func (f *tableFile) Write(p []byte) (int, error) {
	err := f.disk.attemptTable("write", f.name, func() error {
		_, err := f.File.Write(p)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *tableFile) Sync() error {
	return f.disk.attemptTable("sync", f.name, f.File.Sync)
}

func (f *tableFile) SyncData() error {
	return f.disk.attemptTable("sync", f.name, f.File.SyncData)
}

// A noFile is what a dead disk gives Pebble to write to.
type noFile struct {
	vfs.File // nil: nothing reads a file that was made to be written
	name     string
}

func (noFile) Write(p []byte) (int, error)    { return len(p), nil }
func (noFile) Sync() error                    { return nil }
func (noFile) SyncData() error                { return nil }
func (noFile) SyncTo(int64) (bool, error)     { return true, nil }
func (noFile) Preallocate(int64, int64) error { return nil }
func (noFile) Close() error                   { return nil }
func (noFile) Fd() uintptr                    { return vfs.InvalidFd }
func (f noFile) Stat() (vfs.FileInfo, error)  { return noInfo{name: f.name}, nil }

type noInfo struct {
	os.FileInfo // nil: Pebble asks a new log for its size only
	name        string
}

func (i noInfo) Name() string         { return filepath.Base(i.name) }
func (noInfo) Size() int64            { return 0 }
func (noInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
