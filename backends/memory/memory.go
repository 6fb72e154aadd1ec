package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// Options changes what a store says of itself, so that code for other stores
// can be tried on this one. The zero Options are good.
type Options struct {
	// Unit is the largest commit that the store accepts; nil is UnitStore.
	Unit *driver.Unit

	// Uncertain makes Facts say that outcomes can be unknown, although here
	// they never are.
	Uncertain bool

	// Native makes indexes native whose kind is left open.
	Native bool

	// NativeNear makes Facts say so; see driver.Facts. The store does not hold anybody to it.
	NativeNear []driver.Kind
}

// A Store is a driver.Store, driver.Counter and driver.Sizer in memory.
type Store struct {
	unit      driver.Unit
	uncertain bool
	native    bool
	near      []driver.Kind

	mu     sync.RWMutex
	closed bool
	tables map[string]*table
	views  map[*driver.Table]*view
}

// New returns an empty store. Nil options are the zero Options.
func New(opts *Options) *Store {
	s := &Store{
		unit:   driver.UnitStore,
		tables: map[string]*table{},
		views:  map[*driver.Table]*view{},
	}
	if opts != nil {
		s.uncertain, s.native, s.near = opts.Uncertain, opts.Native, slices.Clone(opts.NativeNear)
		if opts.Unit != nil {
			s.unit = *opts.Unit
		}
	}
	return s
}

// Facts says what the store is: as durable as the process.
func (s *Store) Facts() driver.Facts {
	return driver.Facts{
		MaxOps:        10000,
		Name:          "memory",
		Detail:        "in the memory of this process",
		Unit:          s.unit,
		Durability:    driver.Memory,
		Setting:       "none",
		OneProcess:    true,
		Uncertain:     s.uncertain,
		Apart:         driver.Ability{Has: true, Reason: "by commits of their own, where the unit is a partition"},
		Native:        driver.Ability{Has: true, Reason: "beside the records, and changed with them"},
		Counts:        driver.Ability{Has: true, Reason: "by walking the rows of the span"},
		PrefersNative: s.native,
		NativeOrder:   []driver.Kind{driver.Bool, driver.Int, driver.Float, driver.String, driver.Bytes, driver.Time},
		NativeNear:    slices.Clone(s.near),
		Sizes:         driver.Ability{Has: true, Reason: "texts, bytes and numbers of keys and values, without the overhead of Go"},
	}
}

// Close forgets all rows.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.tables, s.views = nil, nil
	return nil
}

// read takes the lock for reading. Without an error the caller must unlock.
func (s *Store) read(ctx context.Context) error {
	if err := ended(ctx); err != nil {
		return err
	}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return closed()
	}
	return nil
}

// write takes the lock alone. Without an error the caller must unlock.
func (s *Store) write(ctx context.Context) error {
	if err := ended(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return closed()
	}
	return nil
}
