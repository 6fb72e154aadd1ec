package history

import (
	"encoding"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
)

// A form says how the records of a type are taken apart, for the rows of revisions, which are maps. Package repo has
// checked the type.
type form struct {
	fields  []field
	version []int // index of the field of that role, nil if there is none
	expires []int
	extra   []int
}

type field struct {
	name   string
	index  []int
	option string
}

// The names under which a map has what a struct has fields with roles for.
const (
	mapVersion = "_version"
	mapExpires = "_expires"
)

// formOf returns the form of a type; that of a map is empty.
func formOf(t reflect.Type) (f form) {
	if t.Kind() != reflect.Struct {
		return f
	}
	for _, sf := range reflect.VisibleFields(t) {
		tag := sf.Tag.Get("repo")
		if tag == "-" || !sf.IsExported() || flattened(sf) || hidden(t, sf.Index) {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		if name == "" {
			name = strings.ToLower(sf.Name)
		}
		switch option {
		case "version":
			f.version = sf.Index
		case "expires":
			f.expires = sf.Index
		case "extra":
			f.extra = sf.Index
		default:
			f.fields = append(f.fields, field{name, sf.Index, option})
		}
	}
	return f
}

// flattened reports whether the fields of an embedded struct are stored in place of the struct.
func flattened(sf reflect.StructField) bool {
	_, tagged := sf.Tag.Lookup("repo")
	p := reflect.PointerTo(sf.Type)
	isText := p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	return sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct && !isText
}

// hidden reports whether a field belongs to an embedded struct that is not flattened.
func hidden(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		sf := t.Field(i)
		if !flattened(sf) {
			return true
		}
		t = sf.Type
	}
	return false
}

// take returns the fields of a record, a pointer, as a row has them, with room for those of a mark.
func (f *form) take(rec any) map[string]any {
	if m, ok := rec.(*map[string]any); ok {
		row := make(map[string]any, len(*m)+len(markKinds))
		maps.Copy(row, *m)
		delete(row, mapVersion)
		if until, some := row[mapExpires]; some {
			row[untilField] = until
			delete(row, mapExpires)
		}
		return row
	}
	v := reflect.ValueOf(rec).Elem()
	row := make(map[string]any, len(f.fields)+len(markKinds))
	if f.extra != nil {
		maps.Copy(row, v.FieldByIndex(f.extra).Interface().(map[string]any))
	}
	for i := range f.fields {
		at := &f.fields[i]
		x := v.FieldByIndex(at.index)
		if at.option != "" && x.IsZero() { // omitempty, or nanos, of which the zero time is absent, too
			continue
		}
		if row[at.name] = x.Interface(); at.option == "nanos" {
			row[at.name] = x.Interface().(time.Time).UnixNano()
		}
	}
	if f.expires != nil {
		if until := v.FieldByIndex(f.expires).Interface().(time.Time); !until.IsZero() {
			row[untilField] = until
		}
	}
	return row
}

// mend makes a record, a pointer, that was read from a row what it was: without the version of the row, and with its
// own expiry.
func (f *form) mend(rec any, until time.Time) {
	if m, ok := rec.(*map[string]any); ok {
		for name := range markKinds {
			delete(*m, name)
		}
		delete(*m, mapVersion)
		delete(*m, mapExpires)
		if !until.IsZero() {
			(*m)[mapExpires] = until
		}
		return
	}
	v := reflect.ValueOf(rec).Elem()
	if f.version != nil {
		v.FieldByIndex(f.version).SetZero()
	}
	if f.expires != nil {
		v.FieldByIndex(f.expires).Set(reflect.ValueOf(until))
	}
	if f.extra != nil {
		extra, _ := v.FieldByIndex(f.extra).Interface().(map[string]any)
		for name := range markKinds {
			delete(extra, name)
		}
		if len(extra) == 0 {
			v.FieldByIndex(f.extra).SetZero()
		}
	}
}

// versionIn returns the version that a record, a pointer, has.
func (f *form) versionIn(rec any) (v repo.Version) {
	if m, ok := rec.(*map[string]any); ok {
		v, _ = (*m)[mapVersion].(repo.Version)
	} else if f.version != nil {
		v = reflect.ValueOf(rec).Elem().FieldByIndex(f.version).Interface().(repo.Version)
	}
	return v
}

// keyIn returns the values of the fields of a key that a record, a pointer, has.
func (f *form) keyIn(rec any, names []string) repo.Key {
	key := make(repo.Key, len(names))
	m, ok := rec.(*map[string]any)
	for i, name := range names {
		if ok {
			key[i] = (*m)[name]
			continue
		}
		for j := range f.fields {
			if at := &f.fields[j]; at.name == name {
				key[i] = reflect.ValueOf(rec).Elem().FieldByIndex(at.index).Interface()
			}
		}
	}
	return key
}

// settle makes a record, a pointer, what it is when it is written.
func settle(rec any) error {
	if u, ok := rec.(repo.Upgrader); ok {
		at, newest := u.Format()
		*at = max(*at, newest)
	}
	if d, ok := rec.(repo.Deriver); ok {
		return d.Derive()
	}
	return nil
}
