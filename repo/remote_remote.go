package repo

import (
	"context"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A remoteC puts, judges and drops the rows and claims of a collection that lie outside of the
// commits of its records.
type remoteC struct {
	*reader
	cleaner *cleaner
	// expire deletes a record if it has expired, with its rows and claims. The row was read since a time.
	expire func(ctx context.Context, k *call, row *driver.Row, since time.Time) (gone bool, err error)
}
