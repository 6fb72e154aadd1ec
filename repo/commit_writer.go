package repo

// A writer writes the records of a collection, which have a type.
type writer struct {
	*remoteC
	shape *shape
}

// newWriter returns a writer of records of a shape, on a collection that nobody has looked up in the
// catalog yet.
func newWriter(store *handle, l *layoutC, sh *shape, cl *cleaner) *writer {
	r := &reader{catalogC: &catalogC{layoutC: l, store: store}, keyAccess: keyAccesses(l)}
	c := &writer{remoteC: &remoteC{reader: r, cleaner: cl}, shape: sh}
	c.expire = c.reclaimRow
	return c
}
