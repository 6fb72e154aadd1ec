package catalog

import (
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/internal/layout"
)

// A program that does not declare a field may have it among undeclared ones, which lie where
// an index that the store keeps does not look. Once another program has such an index of the
// field, the first one may change the field where it is, and add it nowhere: it would be left
// behind in silence.

// strays returns the fields of indexes that the store keeps and c does not know of, of those
// that c has among undeclared fields.
func (e *Entry) strays(c *layout.Layout) (names []string) {
	if !c.Extra {
		return nil
	}
	for _, x := range e.Indexes {
		if x.Mode != modeNative {
			continue
		}
		for _, name := range slices.Concat(x.Partition, x.Sort) {
			name = strings.TrimSuffix(strings.TrimPrefix(name, "-"), "[]")
			if c.At(name) < 0 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// noStrays takes over what the entry says of such fields.
func (c *Collection) noStrays(e *Entry) {
	names := e.strays(c.Layout)
	c.Strays.Store(&names)
}
