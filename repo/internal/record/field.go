package record

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// What a struct field is for.
const (
	roleField = iota
	roleVersion
	roleExpires
	roleExtra
)

// A Field is one field of a struct, with the coder of its type.
type Field struct {
	*coder
	Name   string // in the store
	goName string
	index  []int
	Typ    reflect.Type
	role   int
	Nanos  bool         // an integer that keeps the nanoseconds of a time
	Empty  driver.Value // what an empty field would be, if it is absent instead

	optional bool // of a union: not all types have it

	Plain  driver.Kind // not None: the field is read and written by load and store
	offset uintptr     // in the struct
}

// FieldName matches the names that fields may have.
var FieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// structFields returns the stored fields of a struct type, those of embedded
// structs included. A field is named by its tag, or else by its Go name in lower
// case; `repo:"-"` leaves it out. With an error come the fields all the same, so that a
// schema can be held against them: what cannot be stored has no kind.
func structFields(t reflect.Type, m coders) ([]Field, error) {
	var fields []Field
	var errs []error
	seen := map[string]string{}
	for _, sf := range reflect.VisibleFields(t) {
		tag := sf.Tag.Get("repo")
		if tag == "-" || hidden(t, sf.Index) {
			continue
		}
		if err := checkEmbedded(t, sf); err != nil {
			errs = append(errs, fmt.Errorf("field %s: %w", sf.Name, err))
		}
		if !sf.IsExported() || flattened(sf) {
			continue
		}
		f, err := fieldOf(sf, tag, m)
		id := f.id()
		if seen[id] != "" {
			err = errors.Join(err, fmt.Errorf("it and field %s are both named %q: %w", seen[id], id, driver.ErrSchema))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("field %s: %w", sf.Name, err))
			if f.role != roleField || seen[id] != "" {
				continue
			}
		}
		if f.coder == nil {
			f.coder = &coder{}
		}
		seen[id] = sf.Name
		f.offset = offsetOf(t, f.index)
		fields = append(fields, f)
	}
	return fields, errors.Join(errs...)
}

// id is what no two fields of a struct may have in common.
func (f *Field) id() string {
	if f.role == roleField {
		return f.Name
	}
	return [...]string{roleVersion: ",version", roleExpires: ",expires", roleExtra: ",extra"}[f.role]
}

// flattened reports whether the fields of an embedded struct are stored in place of
// the struct: not if it has a tag, is a pointer, which may be nil, or makes one value.
func flattened(sf reflect.StructField) bool {
	_, tagged := sf.Tag.Lookup("repo")
	return sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct && sf.Type != timeType && !isText(sf.Type)
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

// checkEmbedded says which fields of an embedded struct would be lost.
func checkEmbedded(t reflect.Type, sf reflect.StructField) error {
	switch {
	case !sf.Anonymous || sf.Tag.Get("repo") == "-":
		return nil
	case !flattened(sf):
		if !sf.IsExported() && sf.Type.Kind() == reflect.Pointer {
			return fmt.Errorf("it is embedded as a pointer to a type that is not exported, so nothing of it can be stored; embed the struct itself, or leave it out by `repo:\"-\"`: %w", driver.ErrSchema)
		}
		return nil
	}
	for i := range sf.Type.NumField() {
		inner := sf.Type.Field(i)
		if _, ok := t.FieldByName(inner.Name); !ok && inner.IsExported() && inner.Tag.Get("repo") != "-" {
			return fmt.Errorf("its field %s is in another embedded struct, too, so neither can be stored; give one of the structs a tag, which makes it one field: %w", inner.Name, driver.ErrSchema)
		}
	}
	return nil
}

func fieldOf(sf reflect.StructField, tag string, m coders) (Field, error) {
	name, option, _ := strings.Cut(tag, ",")
	f := Field{Name: name, goName: sf.Name, index: sf.Index, Typ: sf.Type}
	var errs [3]error
	switch option {
	case "", "nanos", "omitempty":
	case "version":
		f.role = roleVersion
		if m.version == nil {
			return f, nil // of a nested struct, which says so
		}
		return f, wantType(sf, m.version, option)
	case "expires":
		f.role = roleExpires
		return f, wantType(sf, timeType, option)
	case "extra":
		f.role = roleExtra
		return f, wantType(sf, reflect.TypeFor[map[string]any](), option)
	default:
		errs[0] = fmt.Errorf("tag option %q is none of version, expires, extra, nanos, omitempty: %w", option, driver.ErrSchema)
	}
	if name == "" {
		f.Name = strings.ToLower(sf.Name)
	}
	if head, path := CutPath(f.Name); path != nil && m.paths {
		errs[1] = errors.Join(nameFault(head), CheckPath(path))
	} else {
		errs[1] = nameFault(f.Name)
	}
	if option == "nanos" {
		f.coder, f.Nanos = nanosCoder(), true
		return f, errors.Join(errs[1], wantType(sf, timeType, option))
	}
	f.Plain = plainKind(sf.Type)
	c, err := m.of(sf.Type)
	if err == nil && c.Kind == driver.None && c.enc != nil {
		err = fmt.Errorf("type %s has no kind; declare it as map[string]any, []any or a type of its own: %w", sf.Type, driver.ErrSchema)
	}
	if f.coder = c; err == nil && option == "omitempty" {
		err = f.omitEmpty()
	}
	errs[2] = err
	return f, errors.Join(errs[:]...)
}

func nameFault(name string) error {
	if FieldName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("name %q: use letters, digits and '_', a letter first, at most 64: %w", name, driver.ErrSchema)
}

// omitEmpty makes the field absent where it is empty: 0, false, "" or the zero time.
func (f *Field) omitEmpty() (err error) {
	if !f.IsScalar() {
		return fmt.Errorf("tag option \"omitempty\" is for numbers, texts, bools and times; a %s is absent when it is nil or empty without it: %w", f.Typ, driver.ErrSchema)
	}
	whole := f.coder
	if f.Empty, err = f.Zero(); err != nil {
		return fmt.Errorf("tag option \"omitempty\": the empty %s cannot be stored: %w", f.Typ, err)
	}
	some := *whole
	some.enc = func(v reflect.Value, depth int) (driver.Value, error) {
		x, err := whole.enc(v, depth)
		if err == nil && x.Equal(f.Empty) {
			x = driver.Value{}
		}
		return x, err
	}
	f.coder, f.Plain = &some, driver.None
	return nil
}

func wantType(sf reflect.StructField, want reflect.Type, option string) error {
	if sf.Type != want {
		return fmt.Errorf("tag option %q is for a field of type %s, not %s: %w", option, want, sf.Type, driver.ErrSchema)
	}
	return nil
}

// IsScalar reports whether a field of a struct always has a value in the store.
func (f *Field) IsScalar() bool {
	switch f.Kind {
	case driver.Bool, driver.Int, driver.Float, driver.String, driver.Time:
		return !f.optional && !f.Nanos && f.Empty.IsNone() && f.Typ.Kind() != reflect.Pointer
	}
	return false
}

// IsOptional reports whether only some types of a union have the field, or not all of them always.
func (f *Field) IsOptional() bool { return f.optional }

// Of returns the value of the field in a record, a struct with an address.
func (f *Field) Of(v reflect.Value) (driver.Value, error) { return f.enc(v.FieldByIndex(f.index), 0) }

// Set sets the field of a record to a value.
func (f *Field) Set(v reflect.Value, x driver.Value) error { return f.Dec(x, v.FieldByIndex(f.index)) }

// Clear makes the field of a record empty: absent, where it can be.
func (f *Field) Clear(v reflect.Value) { v.FieldByIndex(f.index).SetZero() }

// Zero returns the value of a scalar field that was never set.
func (f *Field) Zero() (driver.Value, error) { return f.enc(reflect.New(f.Typ).Elem(), 0) }
