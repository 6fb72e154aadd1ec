package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/polystore/polystore/repo"
)

// A floor does the work by hand on Pebble, as somebody would who has this work
// and no other: what a library is measured against. A write locks its record,
// reads it once, and lets go of the lock before it waits for the disk.
type floor struct {
	db       *pebbledb.DB
	covering bool // the rows of the indexes are the records again
	tuned    bool // work space is kept between calls, and the texts of a record are cut from one copy
	sync     bool
	versions atomic.Uint64
	seed     maphash.Seed
	locks    [1 << 12]sync.Mutex
	scratch  sync.Pool
}

// A scratch is the work space of one call.
type scratch struct{ key, row, value, end []byte }

// floorOptions are those of the backend, so that its code alone makes the
// difference.
func floorOptions() *pebbledb.Options {
	opts := &pebbledb.Options{
		Logger:                      quietLogger{},
		FormatMajorVersion:          pebbledb.FormatTableFormatV6,
		CacheSize:                   128 << 20,
		MemTableSize:                32 << 20,
		MemTableStopWritesThreshold: 4,
		L0StopWritesThreshold:       40,
		CompactionConcurrencyRange:  func() (int, int) { return 1, max(1, runtime.GOMAXPROCS(0)/2) },
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	opts.ApplyCompressionSettings(func() pebbledb.DBCompressionSettings { return pebbledb.DBCompressionFastest })
	return opts
}

type quietLogger struct{}

func (quietLogger) Infof(string, ...any)  {}
func (quietLogger) Errorf(string, ...any) {}

func (quietLogger) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func openPlain(at place, covering bool) (posts, error) { return openFloor(at, covering, false) }

func openTuned(at place, covering bool) (posts, error) { return openFloor(at, covering, true) }

func openFloor(at place, covering, tuned bool) (posts, error) {
	db, err := pebbledb.Open(at.dir, floorOptions())
	if err != nil {
		return nil, err
	}
	f := &floor{db: db, covering: covering, tuned: tuned, sync: at.sync, seed: maphash.MakeSeed()}
	f.versions.Store(uint64(time.Now().UnixNano())) // above all versions given before
	f.scratch.New = func() any { return new(scratch) }
	return f, nil
}

// space returns the work space of one call.
func (f *floor) space() *scratch {
	if f.tuned {
		return f.scratch.Get().(*scratch)
	}
	return &scratch{key: make([]byte, 0, 32)}
}

func (f *floor) close() error { return f.db.Close() }

func (f *floor) lockOf(id string) *sync.Mutex {
	return &f.locks[maphash.String(f.seed, id)%uint64(len(f.locks))]
}

func (f *floor) insert(ctx context.Context, p *post) error {
	return f.write(ctx, p.ID, func(s *scratch, b *pebbledb.Batch) error {
		_, closer, err := f.db.Get(s.key)
		if err == nil {
			closer.Close()
			return repo.ErrExists
		}
		if !errors.Is(err, pebbledb.ErrNotFound) {
			return err
		}
		f.stamp(p)
		s.value = appendRecord(slices.Grow(s.value[:0], 512), p)
		b.Set(s.key, s.value, nil)
		f.setRow(s, b, authorKey, p)
		f.setRow(s, b, categoryKey, p)
		return nil
	})
}

func (f *floor) get(ctx context.Context, k key) (p post, err error) {
	if err := ctx.Err(); err != nil {
		return p, err
	}
	s := f.space()
	s.key = appendRecordKey(s.key[:0], k.id)
	err = f.read(s.key, &p)
	f.scratch.Put(s)
	return p, err
}

// read fills p with the record under key.
func (f *floor) read(key []byte, p *post) error {
	stored, closer, err := f.db.Get(key)
	if err != nil {
		if errors.Is(err, pebbledb.ErrNotFound) {
			return repo.ErrNotFound
		}
		return err
	}
	err = readRecord(p, stored, f.tuned)
	closer.Close()
	return err
}

func (f *floor) update(ctx context.Context, k key, version repo.Version, change func(*post) error) (next post, err error) {
	err = f.write(ctx, k.id, func(s *scratch, b *pebbledb.Batch) error {
		if err := f.read(s.key, &next); err != nil {
			return err
		}
		if !version.IsZero() && next.Version != version {
			return repo.ErrConflict
		}
		old := next
		if err := change(&next); err != nil {
			return err
		}
		f.stamp(&next)
		s.value = appendRecord(slices.Grow(s.value[:0], 512), &next)
		b.Set(s.key, s.value, nil)
		f.moveRow(s, b, authorKey, &old, &next)
		f.moveRow(s, b, categoryKey, &old, &next)
		return nil
	})
	return next, err
}

// moveRow replaces the row of old in an index by that of next, which s.value holds.
func (f *floor) moveRow(s *scratch, b *pebbledb.Batch, index byte, old, next *post) {
	moved := old.in(index) != next.in(index) || !old.Created.Equal(next.Created)
	if moved {
		s.row = appendRowKey(s.row[:0], index, old)
		b.Delete(s.row, nil)
	}
	if moved || f.covering {
		f.setRow(s, b, index, next)
	}
}

// setRow writes the row of p, which s.value holds.
func (f *floor) setRow(s *scratch, b *pebbledb.Batch, index byte, p *post) {
	s.row = appendRowKey(s.row[:0], index, p)
	if f.covering {
		b.Set(s.row, s.value, nil)
	} else {
		b.Set(s.row, nil, nil)
	}
}

func (f *floor) delete(ctx context.Context, k key) error {
	return f.write(ctx, k.id, func(s *scratch, b *pebbledb.Batch) error {
		var p post
		if err := f.read(s.key, &p); err != nil {
			if errors.Is(err, repo.ErrNotFound) {
				return nil
			}
			return err
		}
		b.Delete(s.key, nil)
		s.row = appendRowKey(s.row[:0], authorKey, &p)
		b.Delete(s.row, nil)
		s.row = appendRowKey(s.row[:0], categoryKey, &p)
		b.Delete(s.row, nil)
		return nil
	})
}

// stamp gives p a version that no post has had.
func (f *floor) stamp(p *post) {
	p.Version = repo.Version{}
	binary.BigEndian.PutUint64(p.Version[:8], f.versions.Add(1))
}

// write applies the batch that fill makes while the record under id, whose key is
// s.key, is locked, and then waits for the disk.
func (f *floor) write(ctx context.Context, id string, fill func(*scratch, *pebbledb.Batch) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := f.space()
	defer f.scratch.Put(s)
	s.key = appendRecordKey(s.key[:0], id)
	b := f.db.NewBatch()
	lock := f.lockOf(id)
	lock.Lock()
	err := fill(s, b)
	if err == nil && !b.Empty() {
		err = f.apply(b)
	}
	lock.Unlock()
	if err == nil && !b.Empty() && f.sync {
		err = b.SyncWait()
	}
	return errors.Join(err, b.Close())
}

func (f *floor) apply(b *pebbledb.Batch) error {
	if f.sync {
		return f.db.ApplyNoSyncWait(b, pebbledb.Sync)
	}
	return f.db.Apply(b, pebbledb.NoSync)
}

func (f *floor) byAuthor(ctx context.Context, author string, n int) ([]post, error) {
	return f.newest(ctx, authorKey, author, n)
}

func (f *floor) byCategory(ctx context.Context, _, category string, n int) ([]post, error) {
	return f.newest(ctx, categoryKey, category, n)
}

// newest returns the posts of the first n rows that an index has for a value.
func (f *floor) newest(ctx context.Context, index byte, value string, n int) (list []post, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := f.space()
	defer f.scratch.Put(s)
	s.row = appendRun(s.row[:0], index, value)
	s.end = append(s.end[:0], s.row...)
	s.end[len(s.end)-1]++
	it, err := f.db.NewIter(&pebbledb.IterOptions{LowerBound: s.row, UpperBound: s.end})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	list = make([]post, 0, n)
	for ok := it.First(); ok && len(list) < n; ok = it.Next() {
		list = list[:len(list)+1]
		p := &list[len(list)-1]
		err := f.readRow(it, s, p)
		switch {
		case errors.Is(err, repo.ErrNotFound) || err == nil && p.in(index) != value:
			list = list[:len(list)-1] // deleted or changed since the loop began
		case err != nil:
			return nil, err
		}
	}
	return list, it.Error()
}

// readRow fills p with the post of the row that it stands on.
func (f *floor) readRow(it *pebbledb.Iterator, s *scratch, p *post) error {
	if f.covering {
		stored, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		return readRecord(p, stored, f.tuned)
	}
	id := it.Key()[len(s.row)+8:]
	s.key = append(append(s.key[:0], recordKey), id...)
	return f.read(s.key, p)
}
