package commit

import (
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/commit/remote"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Writer writes the records of a collection, which have a type.
type Writer struct {
	*remote.Remote
	Shape *record.Mapping
}

// NewWriter returns a writer of records of a shape, on a collection that nobody has looked up in the
// catalog yet.
func NewWriter(store *store.Handle, l *layout.Layout, sh *record.Mapping, cl *remote.Cleaner) *Writer {
	r := &scan.Reader{Collection: &catalog.Collection{Layout: l, Store: store}, KeyAccess: plan.AccessesTo(l, nil)}
	c := &Writer{Remote: &remote.Remote{Reader: r, Cleaner: cl}, Shape: sh}
	c.Expire = c.reclaimRow
	return c
}

// editor returns what compiles and applies edits of the records of c.
func (c *Writer) editor() editor { return editor{c.Layout, c.Shape} }
