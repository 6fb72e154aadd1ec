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

// WithBuild makes Open add the indexes that a collection with records lacks, and fill them in the background, while
// all programs read and write. Until an index is ready, a query that only it answers is ErrNoIndex, and says so: see
// [Repo.Ready]. Whoever opens the collection with this option goes on with an index that another program left half-way.
// An index that the store keeps is made before Open returns. The filling rests as long as it works, so that writers are
// hardly slower: see [WithBuildRate].
func WithBuild() OpenOption { return func(o *upkeep.OpenOptions) { o.Build = true } }

// WithBuildRate is [WithBuild] with another pace of the filling of this program: it reads at most so many records in a
// second, and does not rest if it is slower. So a great rate fills at full speed. Fewer than one is ErrInvalid.
func WithBuildRate(perSecond int) OpenOption {
	return func(o *upkeep.OpenOptions) { o.Build, o.Rate = true, &perSecond }
}

// openOptionsOf returns what the options of a caller say.
func openOptionsOf(opts []OpenOption) (o upkeep.OpenOptions, err error) {
	for i, opt := range opts {
		if opt == nil {
			return o, failure.Invalid("option %d is nil", i+1)
		}
		opt(&o)
	}
	if o.Rate != nil && *o.Rate < 1 {
		return o, failure.Invalid("WithBuildRate(%d); want 1 or more", *o.Rate)
	}
	return o, nil
}
