package pebble

import (
	"fmt"
	"sync/atomic"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A Store is a driver.Store, driver.Counter and driver.Sizer in a directory. Close waits for
// calls under way and for a compaction, ends loops over Range, and fails if acknowledged commits
// could not be written.
type Store struct {
	*frame.Store[view]
	in *store
}

// A store is what the frame of a Store does not do.
type store struct {
	db     *pebbledb.DB
	dir    string
	sync   bool
	disk   *disk
	lock   *pebbledb.Lock
	health health
	locks  locks

	unsynced atomic.Int64 // commits that are visible and may not be on disk yet

	frame   *frame.Frame[view]
	scans   scans
	tidying tidying

	tables     map[string]*table // changed while nobody else changes tables, as the next
	lastNumber int
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
		return nil, who.Invalid("open %s: a store in memory has neither a directory nor a file system", dir)
	case opts.InMemory:
		dir, files = "memory", vfs.NewMem()
	case dir == "":
		return nil, who.Invalid("open: no directory; give one, or ask for a store in memory")
	case files == nil:
		files = vfs.Default
	}
	lock, dir, err := claim(files, dir, opts.MustExist)
	if err != nil {
		return nil, err
	}
	s := &store{
		dir:    dir,
		sync:   !opts.NoSync && !opts.InMemory,
		disk:   newDisk(files),
		lock:   lock,
		tables: map[string]*table{},
	}
	s.locks.init()
	s.tidying.init()
	s.frame = frame.New[view](who, factsOf(dir, opts))
	if err := s.start(opts); err != nil {
		return nil, err
	}
	return &Store{s.frame.Store(s), s}, nil
}

// start opens Pebble and reads the catalog. If it fails nothing is left open.
func (s *store) start(opts *Options) error {
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
func (s *store) openPebble(opts *Options) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("pebble: open: directory %s: %w: %v", s.dir, driver.ErrCorrupt, r)
		}
	}()
	desc, err := pebbledb.Peek(s.dir, s.disk)
	if err == nil && desc.Exists && desc.FormatMajorVersion > format {
		return who.Schema("open: directory %s has format %d of Pebble, this program writes %d; open it with a later release",
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

// Close closes the files.
func (s *store) Close() error {
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

var (
	_ driver.Counter = (*Store)(nil)
	_ driver.Ranger  = (*Store)(nil)
	_ driver.Sizer   = (*Store)(nil)
)
