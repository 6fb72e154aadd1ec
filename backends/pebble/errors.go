package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// who is what the errors of this package begin with.
const who = frame.Name("pebble")

var (
	errRow = fmt.Errorf("a row that was not written like this: %w", driver.ErrCorrupt)
	errKey = fmt.Errorf("a key without the parts of its table: %w", driver.ErrCorrupt)
)

// failed says what an error of Pebble during a read or an open means. It returns
// nil for nil.
func (s *store) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	where := "directory " + s.dir
	if info := pebbledb.ExtractDataCorruptionInfo(err); info != nil {
		where = "file " + info.Path
	}
	if errors.Is(err, driver.ErrCorrupt) {
		return fmt.Errorf("pebble: %s: %s: %w", doing, where, err)
	}
	return fmt.Errorf("pebble: %s: %s: %w: %w", doing, where, kindOf(err), err)
}

// kindOf returns the sentinel for an error of Pebble or of the file system.
func kindOf(err error) error {
	switch {
	case pebbledb.IsCorruptionError(err):
		return driver.ErrCorrupt
	case noSpace(err):
		return driver.ErrFull
	case errors.Is(err, pebbledb.ErrClosed):
		return driver.ErrClosed
	case errors.Is(err, fs.ErrNotExist):
		return driver.ErrCorrupt // a file that Pebble made is gone
	}
	return driver.ErrUnavailable
}

// fromSystem says whether err is one of the operating system.
func fromSystem(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno)
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
