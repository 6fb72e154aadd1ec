package layout

import (
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
)

// A name of a schema or a query is that of a field, or of a part of one: address.city is what the map, or the struct,
// in the field address has under city. A part of a list is an element, by its number from 0.

// A Kind is what is known of the values of a field, or of a part of one.
type Kind struct {
	Kind  driver.Kind // None if the values may be of any kind
	Elem  driver.Kind // of a list: that of its elements
	Nanos bool        // an integer that keeps the nanoseconds of a time
}

// Find returns where the value lies that a name is for. The error says what is wrong with a path. A name whose field
// is not declared is at -1.
func (c *Layout) Find(name string) (Source, Kind, error) {
	src, kind, err := c.find(name)
	if src.At >= 0 && c.IsHidden(src.At) && !c.Extra {
		src.At, kind, err = -1, Kind{}, c.checkPath(name, src.Path)
	}
	return src, kind, err
}

// find is Find for fields of other programs, too.
func (c *Layout) find(name string) (Source, Kind, error) {
	field, path := record.CutPath(name)
	src := Source{At: c.At(field), Path: path}
	if list, elem := strings.CutSuffix(field, "[]"); elem && src.At < 0 && c.At(list) >= 0 {
		return src, Kind{}, failure.Invalid("%.64q: a path goes to one element of a list, by its number, as %s.0", name, list)
	}
	if src.At < 0 {
		return src, Kind{}, c.checkPath(name, path)
	}
	if path == nil {
		return src, Kind{c.Cols[src.At].Kind, c.Elems[src.At], c.Nanos[src.At]}, nil
	}
	k, err := c.partKind(name, src)
	return src, k, err
}

// checkPath is ErrInvalid for a path that leads nowhere in any value.
func (c *Layout) checkPath(name string, path []string) error {
	err := record.CheckPath(path)
	if err != nil {
		err = driver.Errorf("%.64q: %w", c.Raw(name), err)
	}
	return err
}

// partKind returns what is known of a part of a field.
func (c *Layout) partKind(name string, src Source) (Kind, error) {
	if err := c.checkPath(name, src.Path); err != nil {
		return Kind{}, err
	}
	if k, ok := c.Parts[name]; ok {
		return k, nil
	}
	col, f := c.Cols[src.At], c.Fields[src.At]
	switch {
	case col.Kind != driver.Map && col.Kind != driver.List && col.Kind != driver.None:
		return Kind{}, failure.Invalid("%.64q: field %s is of kind %s, which has no parts", name, col.Name, col.Kind)
	case col.Kind == driver.List && !isElement(src.Path[0]):
		return Kind{}, failure.Invalid("%.64q: field %s is a list, whose parts are its elements, by their numbers, as %s.0", name, col.Name, col.Name)
	case f == nil: // of a map record
		return Kind{}, nil
	}
	return KindOf(f, src.Path)
}

// KindOf returns what is known of a part of a field of a struct.
func KindOf(f *record.Field, path []string) (Kind, error) {
	name, shown := f.Name, any(strings.Join(path, "."))
	for i := range path {
		next, names := f.Part(path[i:i+1]), f.PartNames()
		switch {
		case next == nil && names == nil:
			return Kind{}, failure.Invalid("field %s has no part %.64q: a %s has no part %.64q", name, shown, f.Kind, driver.Private(path[i]))
		case next == nil:
			return Kind{}, failure.Invalid("field %s has no part %.64q; the parts there are %s", name, shown, strings.Join(names, ", "))
		case names == nil: // a map, whose keys may be personal data
			shown = driver.Private(strings.Join(path, "."))
		}
		f = next
	}
	return Kind{f.Kind, f.Elem, f.Nanos}, nil
}

// String returns the kind as a schema names it.
func (k Kind) String() string {
	if k.Kind == driver.List && k.Elem != driver.String && k.Elem != driver.None {
		return k.Kind.String() + ElementsOf + k.Elem.String()
	}
	return k.Kind.String()
}

// IndexedParts returns the kinds of the parts of fields that indexes have, by their paths.
func (c *Layout) IndexedParts() map[string]Kind {
	var parts map[string]Kind
	for _, x := range c.Indexes {
		for _, src := range slices.Concat(x.PartitionFrom, x.SortFrom) {
			if src.Path == nil {
				continue
			}
			if parts == nil {
				parts = map[string]Kind{}
			}
			name := c.NameOf(&src)
			_, parts[name], _ = c.find(name) // which was compiled
		}
	}
	return parts
}

func isElement(part string) bool {
	_, ok := record.ElementAt(part)
	return ok
}

// NameOf returns the name for what a source says.
func (c *Layout) NameOf(src *Source) string {
	name := c.Cols[src.At].Name
	if src.Path != nil {
		name += "." + strings.Join(src.Path, ".")
	}
	return name
}

// Of returns the value among those of a record.
func (src *Source) Of(vals []driver.Value) driver.Value {
	if src.Path == nil {
		return vals[src.At]
	}
	return record.Within(vals[src.At], src.Path)
}

// Is reports whether two sources say the same of every record.
func (src *Source) Is(other *Source) bool {
	return src.At == other.At && src.Elem == other.Elem && slices.Equal(src.Path, other.Path)
}
