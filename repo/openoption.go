package repo

import (
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/upkeep"
)

// An OpenOption changes what [Open] may do.
type OpenOption func(*upkeep.OpenOptions)

// WithoutDefine makes Open change nothing in the store, for programs without the right to do so:
// the collection, its fields and indexes must be there already.
func WithoutDefine() OpenOption { return func(o *upkeep.OpenOptions) { o.Attach = true } }

// WithRebuild makes Open build the indexes that a collection with records lacks, or has with other
// columns. Writers of the same process wait; Open returns when the indexes are complete. No other
// process may write to the store.
func WithRebuild() OpenOption { return func(o *upkeep.OpenOptions) { o.Rebuild = true } }

// openOptionsOf returns what the options of a caller say.
func openOptionsOf(opts []OpenOption) (o upkeep.OpenOptions, err error) {
	for i, opt := range opts {
		if opt == nil {
			return o, failure.Invalid("option %d is nil", i+1)
		}
		opt(&o)
	}
	return o, nil
}
