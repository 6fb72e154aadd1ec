package nested

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
)

// A field is a field of the sub-objects that has terms.
type field struct {
	name      string
	index     []int
	kind      kind
	omitEmpty bool
}

// A shape says where the sub-objects and the key lie in a record.
type shape struct {
	list   []int // index of the list
	fields []field
	keys   []keyField
}

var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// A member is a field of a struct under the name by which package repo stores it.
type member struct {
	name, option string
	typ          reflect.Type
	index        []int
}

// membersOf returns the stored fields of a struct, those of embedded structs included.
func membersOf(t reflect.Type) map[string]member {
	all := map[string]member{}
	var visit func(t reflect.Type, at []int)
	visit = func(t reflect.Type, at []int) {
		for i := range t.NumField() {
			sf := t.Field(i)
			tag, tagged := sf.Tag.Lookup("repo")
			index := append(slices.Clone(at), i)
			name, option, _ := strings.Cut(tag, ",")
			switch {
			case tag == "-":
			case sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct && !isMarshaler(sf.Type):
				visit(sf.Type, index)
			case sf.IsExported():
				if name == "" {
					name = strings.ToLower(sf.Name)
				}
				if old, ok := all[name]; !ok || len(index) < len(old.index) {
					all[name] = member{name, option, sf.Type, index}
				}
			}
		}
	}
	visit(t, nil)
	return all
}

// shapeOf finds the list, its fields and the key in the type of the records. It reports all faults at once.
func shapeOf(t reflect.Type, s *Schema) (*shape, error) {
	members := membersOf(t)
	list, ok := members[s.List]
	if !ok {
		return nil, fmt.Errorf("%s has no field %q, which List names: %w", t, s.List, repo.ErrSchema)
	}
	elem, ok := elementOf(list.typ)
	if !ok {
		return nil, fmt.Errorf("field %s of type %s is no list of structs: %w", s.List, list.typ, repo.ErrSchema)
	}
	sh := &shape{list: list.index}
	var faults []error
	inner := membersOf(elem)
	for _, name := range wanted(s.Fields, inner) {
		f, err := fieldOf(inner, name, elem)
		sh.fields = append(sh.fields, f)
		faults = append(faults, err)
	}
	if len(sh.fields) == 0 {
		faults = append(faults, fmt.Errorf("%s has no field of texts, integers or bools: %w", elem, repo.ErrSchema))
	}
	for _, name := range slices.Concat(s.Records.Partition, s.Records.Sort) {
		k, err := keyFieldOf(members, strings.TrimPrefix(name, "-"))
		sh.keys = append(sh.keys, k)
		faults = append(faults, err)
	}
	return sh, errors.Join(faults...)
}

// elementOf returns the struct type of the elements of a list.
func elementOf(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
		return nil, false
	}
	elem := t.Elem()
	if elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	return elem, elem.Kind() == reflect.Struct && !isMarshaler(elem) && elem != reflect.TypeFor[time.Time]()
}

// wanted returns the names of the fields that have terms, in an order that is always the same.
func wanted(names []string, members map[string]member) []string {
	if names == nil {
		for name, m := range members {
			if kindOf(m.typ) != absent {
				names = append(names, name)
			}
		}
	}
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

func fieldOf(members map[string]member, name string, in reflect.Type) (field, error) {
	m, ok := members[name]
	f := field{name: name, index: m.index, omitEmpty: m.option == "omitempty"}
	if !ok {
		return f, fmt.Errorf("%s has no field %q, which Fields names: %w", in, name, repo.ErrSchema)
	}
	if f.kind = kindOf(m.typ); f.kind == absent {
		return f, fmt.Errorf("field %s of type %s is no text, integer or bool: %w", name, m.typ, repo.ErrSchema)
	}
	if !fieldName.MatchString(name) {
		return f, fmt.Errorf("name %q: use letters, digits and '_', a letter first, at most 64: %w", name, repo.ErrSchema)
	}
	return f, nil
}

// fieldAt returns where a field lies in an object, or -1.
func (s *shape) fieldAt(name string) int {
	return slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
}

// objects returns the sub-objects of a record. A nil pointer in the list has no values.
func (s *shape) objects(rec reflect.Value) ([]object, error) {
	list := rec.FieldByIndex(s.list)
	all := make([]object, list.Len())
	for i := range all {
		v := list.Index(i)
		all[i] = make(object, len(s.fields))
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				continue
			}
			v = v.Elem()
		}
		for f := range s.fields {
			x := v.FieldByIndex(s.fields[f].index)
			if s.fields[f].omitEmpty && x.IsZero() {
				continue
			}
			var err error
			if all[i][f], err = valueOf(x); err != nil {
				return nil, fmt.Errorf("%s of sub-object %d: %w", s.fields[f].name, i+1, err)
			}
		}
	}
	return all, nil
}
