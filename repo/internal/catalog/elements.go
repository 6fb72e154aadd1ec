package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
)

// What the catalog has of values within fields: elements of lists, and parts that indexes have.

// addElements adds the kinds of elements that c declares, and reports whether that was
// anything.
func (e *Entry) addElements(c *layout.Layout) (added bool) {
	for at := range c.Elems {
		name := c.Cols[at].Name
		if e.Elements[name] != "" || !knowsElements(c, at) {
			continue
		}
		if e.Elements == nil {
			e.Elements = map[string]string{}
		}
		e.Elements[name], added = c.Elems[at].String(), true
	}
	return added
}

// knowsElements reports whether the elements of the list at a position are of one kind. Those
// of a map are taken for strings by an index, unless they are declared, and else may be anything.
func knowsElements(c *layout.Layout, at int) bool {
	switch {
	case c.Cols[at].Kind != driver.List || c.Elems[at] == driver.None:
		return false
	case c.Late && c.Elems[at] == driver.String:
		return slices.ContainsFunc(c.Indexes, func(x *layout.Index) bool { return x.IsOver(at) })
	}
	return true
}

// addParts adds the kinds of the parts of fields that c's indexes have, and reports whether that was anything.
func (e *Entry) addParts(c *layout.Layout) (added bool) {
	for name, kind := range c.IndexedParts() {
		if e.Parts[name] != "" {
			continue
		}
		if e.Parts == nil {
			e.Parts = map[string]string{}
		}
		e.Parts[name], added = kind.String(), true
	}
	return added
}

// otherParts returns an error for each part of a field that an index has, and that c takes for another kind.
func (e *Entry) otherParts(c *layout.Layout) (faults []error) {
	for name, kind := range c.IndexedParts() {
		if have := e.Parts[name]; have != "" && have != kind.String() {
			faults = append(faults, fmt.Errorf("%s is stored as %s and declared as %s; give the new part another name: %w", name, have, kind, driver.ErrSchema))
		}
	}
	return faults
}

// otherElements returns an error for each list whose elements are of another kind than c
// declares, or where an index has them and c says nothing of their kind. To a store that
// keeps the index they are all alike.
func (e *Entry) otherElements(c *layout.Layout) (faults []error) {
	for at, kind := range c.Elems {
		name := c.Cols[at].Name
		have := e.Elements[name]
		if have == "" || have == kind.String() || !knowsElements(c, at) && !e.hasElements(name) {
			continue
		}
		declared := kind.String()
		if kind == driver.None {
			declared = "any"
		}
		faults = append(faults, fmt.Errorf("the elements of list %s are stored as %s and declared as %s; give the new list another name: %w", name, have, declared, driver.ErrSchema))
	}
	return faults
}

// hasElements reports whether an index has the elements of a list.
func (e *Entry) hasElements(list string) bool {
	has := func(name string) bool { return strings.TrimPrefix(name, "-") == list+"[]" }
	return slices.ContainsFunc(e.Indexes, func(x IndexEntry) bool {
		return slices.ContainsFunc(x.Partition, has) || slices.ContainsFunc(x.Sort, has)
	})
}
