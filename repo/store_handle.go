package repo

import (
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A handle is a backend with the options under which it is used.
type handle struct {
	driver driver.Store
	facts  driver.Facts
	opts   settings
	cat    *driver.Table // the catalog

	clockFits  atomic.Bool // the server was asked for the time
	background background
}

// settings are what package repo calls Options.
type settings struct {
	Now       func() time.Time
	Observed  bool // somebody is told what operations cost
	CursorKey []byte
	Redact    bool
}

// nowMillis returns the time by which records expire.
func (s *handle) nowMillis() int64 { return s.opts.Now().UnixMilli() }
