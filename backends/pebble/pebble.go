package pebble

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// A Store is a driver.Store, driver.Counter and driver.Sizer in a directory.
type Store struct {
	db     *pebbledb.DB
	dir    string
	facts  driver.Facts
	sync   bool
	disk   *disk
	lock   *pebbledb.Lock
	health health
	locks  locks

	unsynced atomic.Int64 // commits that are visible and may not be on disk yet

	life    backend.Life
	scans   scans
	tidying tidying

	schema     sync.Mutex // of what follows
	tables     map[string]*table
	lastNumber int
	views      backend.Views[view] // changed with schema held, read without
}

// Open opens the store in dir, and makes it if dir does not exist or is empty. A
// directory that holds something else is ErrSchema and left alone, one that is
// open elsewhere ErrLocked, damaged files are ErrCorrupt. Nil options are the
// zero Options.
func Open(dir string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	files := opts.FS
	switch {
	case opts.InMemory && (dir != "" || files != nil):
		return nil, invalid("open %s: a store in memory has neither a directory nor a file system", dir)
	case opts.InMemory:
		dir, files = "memory", vfs.NewMem()
	case dir == "":
		return nil, invalid("open: no directory; give one, or ask for a store in memory")
	case files == nil:
		files = vfs.Default
	}
	lock, dir, err := claim(files, dir, opts.MustExist)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir:    dir,
		sync:   !opts.NoSync && !opts.InMemory,
		disk:   newDisk(files),
		lock:   lock,
		tables: map[string]*table{},
	}
	s.locks.init()
	s.tidying.init()
	s.facts = facts(dir, opts)
	s.life.Begin(who, s.shut)
	if err := s.start(opts); err != nil {
		return nil, err
	}
	return s, nil
}

// start opens Pebble and reads the catalog. If it fails nothing is left open.
func (s *Store) start(opts *Options) error {
	err := s.openPebble(opts)
	if err == nil {
		err = s.loadCatalog()
	}
	s.disk.opened.Store(true)
	if dead := s.disk.dead(); dead != nil { // Pebble may believe that all is well
		err = openError(s.dir, "start Pebble", dead)
	}
	if err == nil {
		return nil
	}
	if s.db != nil {
		s.db.Close()
	}
	s.lock.Close()
	return err
}

// openPebble makes panics errors: Pebble panics at some kinds of damage, and
// nothing of it is in use yet.
func (s *Store) openPebble(opts *Options) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("pebble: open: directory %s: %w: %v", s.dir, driver.ErrCorrupt, r)
		}
	}()
	desc, err := pebbledb.Peek(s.dir, s.disk)
	if err == nil && desc.Exists && desc.FormatMajorVersion > format {
		return schema("open: directory %s has format %d of Pebble, this program writes %d; open it with a later release",
			s.dir, desc.FormatMajorVersion, format)
	}
	if err == nil {
		s.db, err = pebbledb.Open(s.dir, s.pebbleOptions(opts, s.lock))
	}
	if err != nil && !fromSystem(err) { // the files can be read, but not understood
		return fmt.Errorf("pebble: open: directory %s: %w: %w", s.dir, driver.ErrCorrupt, err)
	}
	return openError(s.dir, "start Pebble", err)
}

func facts(dir string, opts *Options) driver.Facts {
	f := driver.Facts{
		MaxOps:     5000,
		MaxBytes:   8 << 20,
		Name:       "pebble",
		Version:    version(),
		Detail:     "directory " + dir,
		Unit:       driver.UnitStore,
		Durability: driver.Power,
		Setting:    "sync=true",
		OneProcess: true,
		Native:     driver.Ability{Reason: "Pebble keeps no index by itself"},
		Counts:     driver.Ability{Has: true, Reason: "by walking the keys of the span"},
		Sizes: driver.Ability{Has: true, Reason: "keys and values as they lie in the sorted tables, compressed, after a flush; " +
			"with versions that were not compacted away yet, whole blocks where tables share one, without the log"},
	}
	switch {
	case opts.InMemory:
		f.Detail, f.Durability, f.Setting = "files in memory", driver.Memory, "in memory"
	case opts.NoSync:
		f.Durability, f.Setting = driver.Memory, "sync=false"
	}
	return f
}

// version returns the version of Pebble that the program was built with.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/cockroachdb/pebble/v2" {
			return m.Version
		}
	}
	return "unknown"
}

// Facts says what the store is.
func (s *Store) Facts() driver.Facts { return s.facts }

// enter begins a call. Without an error the caller must leave.
func (s *Store) enter(ctx context.Context) error { return s.life.Enter(ended(ctx)) }

func (s *Store) leave() { s.life.Leave() }

// Close waits for calls under way and for a compaction, ends loops over Range, which get
// ErrClosed if they go on, and closes the files. It fails if acknowledged commits could
// not be written.
func (s *Store) Close() error { return s.life.Close() }

func (s *Store) shut() error {
	s.tidying.close()
	s.scans.end()
	err := s.db.Close()
	s.lock.Close()
	if dead := s.disk.dead(); dead != nil && !s.sync {
		err = dead
	}
	if err != nil {
		return fmt.Errorf("pebble: close: directory %s: %w: %w", s.dir, kindOf(err), err)
	}
	return nil
}
