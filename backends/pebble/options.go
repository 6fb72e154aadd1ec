package pebble

import (
	"cmp"
	"fmt"
	"runtime"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are the choices of Open. The zero Options are good.
type Options struct {
	// NoSync acknowledges commits before they are on disk. The end of the process
	// alone then loses the last of them: the class is driver.Memory.
	NoSync bool

	// MustExist makes Open fail with ErrNotFound, and leave everything as it is,
	// where no store has been made yet.
	MustExist bool

	// InMemory keeps all files in memory. The directory must be "".
	InMemory bool

	// FS is the file system; nil is that of the machine.
	FS vfs.FS

	// CacheBytes is how much memory blocks that were read may take; 0 is 64 MiB.
	CacheBytes int64

	// MemTableBytes is how much memory a table of recent writes may take before it goes to a
	// file; 0 is 32 MiB. There are up to four at once: when all are full, commits wait.
	MemTableBytes int64
}

const (
	usualCache    = 64 << 20
	usualMemTable = 32 << 20
	leastBytes    = 1 << 20 // of either
	mostCache     = 1 << 40
	mostMemTable  = 1 << 30
	memTables     = 4
	level0Files   = 40
)

// check says what is wrong with the sizes.
func (o *Options) check() error {
	for _, size := range []struct {
		name     string
		got, max int64
	}{{"CacheBytes", o.CacheBytes, mostCache}, {"MemTableBytes", o.MemTableBytes, mostMemTable}} {
		if size.got != 0 && (size.got < leastBytes || size.got > size.max) {
			return who.Invalid("open: %s is %d; want 0, or %d to %d", size.name, size.got, leastBytes, size.max)
		}
	}
	return nil
}

// format is what this backend writes. It is fixed because a directory cannot go
// back from a later one.
const format = pebbledb.FormatTableFormatV6

func (s *store) pebbleOptions(o *Options, lock *pebbledb.Lock) *pebbledb.Options {
	cache, memTable := cmp.Or(o.CacheBytes, usualCache), cmp.Or(o.MemTableBytes, usualMemTable)
	opts := &pebbledb.Options{
		FS:                          s.disk,
		Lock:                        lock,
		Logger:                      logger{s.disk},
		EventListener:               s.listener(),
		FormatMajorVersion:          format,
		CacheSize:                   cache + 2*memTable, // Pebble takes the memory of two memtables out of it
		MemTableSize:                uint64(memTable),
		MemTableStopWritesThreshold: memTables,
		L0StopWritesThreshold:       level0Files,
		CompactionConcurrencyRange:  func() (int, int) { return 1, max(1, runtime.GOMAXPROCS(0)/2) },
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // an Insert asks for keys that are not there
	}
	opts.ApplyCompressionSettings(func() pebbledb.DBCompressionSettings { return pebbledb.DBCompressionFastest })
	return opts
}

// listener keeps s.health up to date.
func (s *store) listener() *pebbledb.EventListener {
	h := &s.health
	return &pebbledb.EventListener{
		FlushEnd:        func(info pebbledb.FlushInfo) { h.flushEnded(info.Err) },
		BackgroundError: h.backgroundError,
		WriteStallBegin: func(pebbledb.WriteStallBeginInfo) { h.stall() },
		WriteStallEnd:   h.stallOver,
		// The default ends the process. Whoever reads the file gets the error.
		DataCorruption: func(pebbledb.DataCorruptionInfo) {},
	}
}

// A logger is where Pebble tells what it cannot return. What it holds to be
// fatal ends all writing, not the process.
type logger struct{ disk *disk }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

func (l logger) Fatalf(format string, args ...any) {
	l.disk.die(fmt.Errorf(format, args...))
}
