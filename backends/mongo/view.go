package mongo

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A view is a table as one driver.Table sees it.
type view struct {
	*frame.Table
	collection string
	native     *native         // the index by which the rows are read
	copied     map[string]bool // columns of the key that documents have as fields, too
	extra      []string        // by ordinal: where rows have the field from before it was declared
}

// libraryFields are names of a document that no field may have.
var libraryFields = [...]string{"_id", "_rev", "_ring", "_dead", "_expires", "_note", "_extra", "_check"}

func (s *store) newView(t *driver.Table, e *entry) *view {
	v := &view{Table: frame.NewTable(t, e.Fields), collection: s.catalog.prefix + t.Name, copied: map[string]bool{}}
	for _, f := range v.Fields {
		v.extra = append(v.extra, "_extra."+escape(f.Name))
	}
	if t.Class == driver.Records {
		for _, c := range slices.Concat(t.Partition, t.Sort) {
			_, field := e.Fields[c.Name]
			_, declared := v.Ordinals[c.Name]
			v.copied[c.Name] = !field && !declared && possibleName(c.Name)
		}
	}
	return v
}
