package store

import (
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Handle is a backend with the options under which it is used.
type Handle struct {
	Driver driver.Store
	Facts  driver.Facts
	Opts   Settings
	Cat    *driver.Table // the catalog

	clockFits  atomic.Bool // the server was asked for the time
	Background background
}

// Settings are what package repo calls Options.
type Settings struct {
	Now       func() time.Time
	Tracer    *Tracer // nil if nobody is told of operations
	CursorKey []byte
	Redact    bool
}

// NowMillis returns the time by which records expire.
func (s *Handle) NowMillis() int64 { return s.Opts.Now().UnixMilli() }
