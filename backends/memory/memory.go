package memory

import (
	"context"
	"sync"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// who is what the errors of this package begin with.
const who = frame.Name("memory")

// A Store is a driver.Store, driver.Counter, driver.Follower, driver.Grouper, driver.Ranger and driver.Sizer in memory.
type Store struct {
	*frame.Store[view]
	in *store
}

// A store is what the frame of a Store does not do.
type store struct {
	frame *frame.Frame[view]

	mu     sync.RWMutex
	tables map[string]*table
}

// New returns an empty store. Nil options are the zero Options.
func New(opts *Options) *Store {
	if opts == nil {
		opts = &Options{}
	}
	in := &store{frame: frame.New[view](who, factsOf(opts)), tables: map[string]*table{}}
	return &Store{in.frame.Store(in), in}
}

// Close forgets all rows.
func (s *store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables = nil
	return nil
}

// reading is a call that reads a table, which may be a native index.
func reading[R any](ctx context.Context, s *store, t *driver.Table, mask []int, do func(v *view) (R, error)) (R, error) {
	return frame.Read(ctx, s.frame, t, mask, func(v *view) (R, error) {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return do(v)
	})
}

var (
	_ driver.Counter  = (*Store)(nil)
	_ driver.Follower = (*Store)(nil)
	_ driver.Grouper  = (*Store)(nil)
	_ driver.Ranger   = (*Store)(nil)
	_ driver.Sizer    = (*Store)(nil)
)
