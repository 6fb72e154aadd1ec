package repo

// An OpenOption changes what [Open] may do.
type OpenOption func(*openOptions)

// WithoutDefine makes Open change nothing in the store, for programs that have no
// right to: the collection, its fields and indexes must be there already.
func WithoutDefine() OpenOption { return func(o *openOptions) { o.attach = true } }

// WithRebuild makes Open build the indexes that a collection with records lacks,
// or has with other columns. Writers of the same process wait; Open returns when
// the indexes are complete. It needs a store that no other process writes to.
func WithRebuild() OpenOption { return func(o *openOptions) { o.rebuild = true } }

// openOptionsOf returns what the options of a caller say.
func openOptionsOf(opts []OpenOption) (o openOptions, err error) {
	for i, opt := range opts {
		if opt == nil {
			return o, invalid("option %d is nil", i+1)
		}
		opt(&o)
	}
	return o, nil
}
