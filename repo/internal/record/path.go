package record

import (
	"slices"
	"strconv"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
)

// CutPath cuts a name into that of a field and the path in it, nil for the whole field.
func CutPath(name string) (field string, path []string) {
	field, rest, ok := strings.Cut(name, ".")
	if ok {
		path = strings.Split(rest, ".")
	}
	return field, path
}

// CheckPath is ErrInvalid for a path that leads nowhere in any value.
func CheckPath(path []string) error {
	if len(path) > limit.MaxDepth {
		return failure.Invalid("a path has over %d parts", limit.MaxDepth)
	}
	if slices.ContainsFunc(path, func(part string) bool { return part == "" || CheckMapKey(part) != nil }) {
		return failure.Invalid("a path has a part that is empty or no text")
	}
	return nil
}

// Within returns the value at a path in another one, none where it leads nowhere.
func Within(v driver.Value, path []string) driver.Value {
	for _, name := range path {
		switch v.Kind() {
		case driver.Map:
			v = entryOf(v.List(), name)
		case driver.List:
			i, ok := ElementAt(name)
			if !ok || i >= len(v.List()) {
				return driver.Value{}
			}
			v = v.List()[i]
		default:
			return driver.Value{}
		}
	}
	return v
}

// entryOf returns the value that a map, with its names and values by turns, has under a name.
func entryOf(flat []driver.Value, name string) driver.Value {
	for i := 0; i+1 < len(flat); i += 2 {
		if flat[i].Str() == name {
			return flat[i+1]
		}
	}
	return driver.Value{}
}

// ElementAt returns the place in a list that a part of a path names: each place has one name.
func ElementAt(name string) (i int, ok bool) {
	i, err := strconv.Atoi(name)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == name
}

// Part returns the field at a path in this one, nil where its type has none.
func (f *Field) Part(path []string) *Field {
	for _, name := range path {
		if f == nil || f.coder == nil || f.part == nil {
			return nil
		}
		f = f.part(name)
	}
	return f
}

// PartNames returns the names of the parts that a struct has, nil where a value may have others, or none.
func (f *Field) PartNames() []string {
	if f.coder == nil || f.parts == nil {
		return nil
	}
	return f.parts()
}

// somePart is any part of a value of whatever type it has.
func somePart(string) *Field { return &Field{coder: &coder{part: somePart}} }
