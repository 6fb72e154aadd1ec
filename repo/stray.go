package repo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// A program that does not declare a field may have it among undeclared ones, which lie where
// an index that the store keeps does not look. Once another program has such an index of the
// field, the first one may change the field where it is, and add it nowhere: it would be left
// behind in silence.

// strays returns the fields of indexes that the store keeps and c does not know of, of those
// that c has among undeclared fields.
func (e *catalogEntry) strays(c *collection) (names []string) {
	if !c.extra {
		return nil
	}
	for _, x := range e.Indexes {
		if x.Mode != modeNative {
			continue
		}
		for _, name := range slices.Concat(x.Partition, x.Sort) {
			name = strings.TrimSuffix(strings.TrimPrefix(name, "-"), "[]")
			if c.at(name) < 0 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// noStrays takes over what the entry says of such fields.
func (c *collection) noStrays(e *catalogEntry) {
	names := e.strays(c)
	c.strays.Store(&names)
}

// addsStray returns an error if a write adds a field where an index would miss it.
func (c *collection) addsStray(writes []write) error {
	for i := range writes {
		w := &writes[i]
		for _, name := range *c.strays.Load() {
			if w.sets(name) && !(w.known && w.old.has(name)) {
				return ofKey(w.key, fmt.Errorf("field %s is in an index of another program, which the store keeps and which has declared fields only; declare it in the record type: %w", name, ErrSchema))
			}
		}
	}
	return nil
}

// setsStray reports whether it depends on what is there, undeclared fields and all, whether a
// write adds one where an index would miss it.
func (c *collection) setsStray(w *write) bool {
	names := c.strays.Load()
	return names != nil && slices.ContainsFunc(*names, w.sets)
}

// sets reports whether a write makes a record with an undeclared field.
func (w *write) sets(name string) bool {
	if w.next != nil {
		return w.next.has(name)
	}
	return slices.ContainsFunc(w.edits, func(e driver.Edit) bool { return e.Field < 0 && e.Name == name && e.Do != driver.Unset })
}

// has reports whether a record has an undeclared field.
func (r *record) has(name string) bool {
	return slices.ContainsFunc(r.extra, func(p driver.Pair) bool { return p.Name == name })
}
