package remote

import (
	"context"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Remote puts, judges and drops the rows and claims of a collection that lie outside of the
// commits of its records.
type Remote struct {
	*scan.Reader
	Cleaner *Cleaner
	// expire deletes a record if it has expired, with its rows and claims. The row was read since a time.
	Expire func(ctx context.Context, k *store.Call, row *driver.Row, since time.Time) (gone bool, err error)
}
