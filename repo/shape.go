package repo

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unsafe"

	"github.com/polystore/polystore/repo/driver"
)

// What a struct field is for.
const (
	roleField = iota
	roleVersion
	roleExpires
	roleExtra
)

// A structField is one field of a struct, with the coder of its type.
type structField struct {
	*coder
	name   string // in the store
	goName string
	index  []int
	typ    reflect.Type
	role   int
	nanos  bool         // an integer that keeps the nanoseconds of a time
	empty  driver.Value // what an empty field would be, if it is absent instead

	plain  driver.Kind // not None: the field is read and written by load and store
	offset uintptr     // in the struct
}

var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// structFields returns the stored fields of a struct type, those of embedded
// structs included. A field is named by its tag, or else by its Go name in lower
// case; `repo:"-"` leaves it out. With an error come the fields all the same, so that a
// schema can be held against them: what cannot be stored has no kind.
func structFields(t reflect.Type, m coders) ([]structField, error) {
	var fields []structField
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
			err = errors.Join(err, fmt.Errorf("it and field %s are both named %q: %w", seen[id], id, ErrSchema))
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
func (f *structField) id() string {
	if f.role == roleField {
		return f.name
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
			return fmt.Errorf("it is embedded as a pointer to a type that is not exported, so nothing of it can be stored; embed the struct itself, or leave it out by `repo:\"-\"`: %w", ErrSchema)
		}
		return nil
	}
	for i := range sf.Type.NumField() {
		inner := sf.Type.Field(i)
		if _, ok := t.FieldByName(inner.Name); !ok && inner.IsExported() && inner.Tag.Get("repo") != "-" {
			return fmt.Errorf("its field %s is in another embedded struct, too, so neither can be stored; give one of the structs a tag, which makes it one field: %w", inner.Name, ErrSchema)
		}
	}
	return nil
}

func fieldOf(sf reflect.StructField, tag string, m coders) (structField, error) {
	name, option, _ := strings.Cut(tag, ",")
	f := structField{name: name, goName: sf.Name, index: sf.Index, typ: sf.Type}
	var errs [3]error
	switch option {
	case "", "nanos", "omitempty":
	case "version":
		f.role = roleVersion
		return f, wantType(sf, versionType, option)
	case "expires":
		f.role = roleExpires
		return f, wantType(sf, timeType, option)
	case "extra":
		f.role = roleExtra
		return f, wantType(sf, reflect.TypeFor[map[string]any](), option)
	default:
		errs[0] = fmt.Errorf("tag option %q is none of version, expires, extra, nanos, omitempty: %w", option, ErrSchema)
	}
	if name == "" {
		f.name = strings.ToLower(sf.Name)
	}
	if !fieldName.MatchString(f.name) {
		errs[1] = fmt.Errorf("name %q: use letters, digits and '_', a letter first, at most 64: %w", f.name, ErrSchema)
	}
	if option == "nanos" {
		f.coder, f.nanos = nanosCoder(), true
		return f, errors.Join(errs[1], wantType(sf, timeType, option))
	}
	f.plain = plainKind(sf.Type)
	c, err := m.of(sf.Type)
	if err == nil && c.kind == driver.None && c.enc != nil {
		err = fmt.Errorf("type %s has no kind; declare it as map[string]any, []any or a type of its own: %w", sf.Type, ErrSchema)
	}
	if f.coder = c; err == nil && option == "omitempty" {
		err = f.omitEmpty()
	}
	errs[2] = err
	return f, errors.Join(errs[:]...)
}

// omitEmpty makes the field absent where it is empty: 0, false, "" or the zero time.
func (f *structField) omitEmpty() (err error) {
	if !f.isScalar() {
		return fmt.Errorf("tag option \"omitempty\" is for numbers, texts, bools and times; a %s is absent when it is nil or empty without it: %w", f.typ, ErrSchema)
	}
	whole := f.coder
	if f.empty, err = f.zero(); err != nil {
		return fmt.Errorf("tag option \"omitempty\": the empty %s cannot be stored: %w", f.typ, err)
	}
	some := *whole
	some.enc = func(v reflect.Value, depth int) (driver.Value, error) {
		x, err := whole.enc(v, depth)
		if err == nil && x.Equal(f.empty) {
			x = driver.Value{}
		}
		return x, err
	}
	f.coder, f.plain = &some, driver.None
	return nil
}

func wantType(sf reflect.StructField, want reflect.Type, option string) error {
	if sf.Type != want {
		return fmt.Errorf("tag option %q is for a field of type %s, not %s: %w", option, want, sf.Type, ErrSchema)
	}
	return nil
}

// A shape is a record type with the place of each of its fields among the
// values of a record.
type shape struct {
	fields  []placedField
	version []int   // index of the field of that role, nil if there is none
	token   uintptr // where the version field lies in the struct
	expires []int
	extra   []int
	isMap   bool  // the type is map[string]any
	fault   error // what is wrong with the fields
}

type placedField struct {
	structField
	at int // position among the values
}

// A record is one record as values: the key parts, then the fields by ordinal.
type record struct {
	vals    []driver.Value
	extra   []driver.Pair
	expires int64
	version Version
}

// encode fills r from v, a struct with an address or a map. r.vals has the length
// of all columns.
func (s *shape) encode(v reflect.Value, r *record, cols []driver.Column) error {
	if s.isMap {
		return s.encodeMap(v.Interface().(map[string]any), r, cols)
	}
	p := v.Addr().UnsafePointer()
	for i := range s.fields {
		f := &s.fields[i]
		if f.store(&r.vals[f.at], p) {
			continue
		}
		x, err := f.enc(v.FieldByIndex(f.index), 0)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.name, err)
		}
		r.vals[f.at] = x
	}
	if s.version != nil {
		r.version = *(*Version)(unsafe.Add(p, s.token))
	}
	if s.expires != nil {
		r.expires = expiryOf(*address[time.Time](v.FieldByIndex(s.expires)))
	}
	if s.extra == nil {
		return nil
	}
	return r.setExtra(v.FieldByIndex(s.extra).Interface().(map[string]any), s)
}

// expiryOf returns the Unix milliseconds of a time, 0 for the zero time. A time
// too far off for that is the last there is.
func expiryOf(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case farOff(t) && t.Unix() > 0:
		return math.MaxInt64
	case farOff(t):
		return 1
	}
	return max(t.UnixMilli(), 1)
}

func timeOfExpiry(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func (r *record) setExtra(m map[string]any, s *shape) error {
	for name, x := range m {
		if err := checkExtra(name, s); err != nil {
			return err
		}
		v, err := encodeAny(x, 1)
		if err != nil {
			return driver.Errorf("field %.64q: %w", driver.Private(name), err)
		}
		if !v.IsNone() {
			r.extra = append(r.extra, driver.Pair{Name: name, Value: v})
		}
	}
	sortPairs(r.extra)
	return nil
}

func checkExtra(name string, s *shape) error {
	if err := checkMapKey(name); err != nil {
		return err
	}
	if name == "" || name[0] == '_' {
		return invalid("field %.64q: a name may not be empty or begin with '_'", driver.Private(name))
	}
	for i := range s.fields {
		if s.fields[i].name == name {
			return invalid("field %q is declared, so it may not be among the extra ones", name)
		}
	}
	return nil
}

// decode fills v, which has an address, from values in the order of s.fields' places.
func (s *shape) decode(r *record, v reflect.Value) error {
	if s.isMap {
		return s.decodeMap(r, v)
	}
	v.SetZero()
	p := v.Addr().UnsafePointer()
	for i := range s.fields {
		f := &s.fields[i]
		if f.at >= len(r.vals) || r.vals[f.at].IsNone() || f.load(&r.vals[f.at], p) {
			continue
		}
		if err := f.dec(r.vals[f.at], v.FieldByIndex(f.index)); err != nil {
			return fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	if s.version != nil {
		*(*Version)(unsafe.Add(p, s.token)) = r.version
	}
	if s.expires != nil {
		*address[time.Time](v.FieldByIndex(s.expires)) = timeOfExpiry(r.expires)
	}
	if s.extra != nil && len(r.extra) > 0 {
		m := make(map[string]any, len(r.extra))
		if err := r.addExtra(m); err != nil {
			return err
		}
		v.FieldByIndex(s.extra).Set(reflect.ValueOf(m))
	}
	return nil
}

// The names under which a map record shows what a struct has tagged fields for.
const (
	mapVersion = "_version" // Version
	mapExpires = "_expires" // time.Time
)

func (s *shape) encodeMap(m map[string]any, r *record, cols []driver.Column) error {
	for i := range s.fields {
		f := &s.fields[i]
		x, err := valueAs(m[f.name], f.name, cols[f.at].Kind, false)
		if err != nil {
			return fmt.Errorf("field %w", err)
		}
		r.vals[f.at] = x
	}
	for name, x := range m {
		if s.declares(name) {
			continue
		}
		if err := r.setMapField(name, x, s); err != nil {
			return err
		}
	}
	sortPairs(r.extra)
	return nil
}

func (s *shape) declares(name string) bool {
	for i := range s.fields {
		if s.fields[i].name == name {
			return true
		}
	}
	return false
}

func (r *record) setMapField(name string, x any, s *shape) error {
	switch name {
	case mapVersion:
		v, ok := x.(Version)
		if !ok {
			return invalid("field %s is a %T, want a repo.Version", name, x)
		}
		r.version = v
		return nil
	case mapExpires:
		t, ok := x.(time.Time)
		if !ok {
			return invalid("field %s is a %T, want a time.Time", name, x)
		}
		r.expires = expiryOf(t)
		return nil
	}
	if err := checkExtra(name, s); err != nil {
		return err
	}
	v, err := encodeAny(x, 1)
	if err != nil {
		return driver.Errorf("field %.64q: %w", driver.Private(name), err)
	}
	if !v.IsNone() {
		r.extra = append(r.extra, driver.Pair{Name: name, Value: v})
	}
	return nil
}

func (s *shape) decodeMap(r *record, v reflect.Value) error {
	m := make(map[string]any, len(s.fields)+len(r.extra)+1)
	for i := range s.fields {
		f := &s.fields[i]
		if f.at >= len(r.vals) || r.vals[f.at].IsNone() {
			continue
		}
		x, err := anyOf(r.vals[f.at])
		if err != nil {
			return fmt.Errorf("field %s: %w", f.name, err)
		}
		m[f.name] = x
	}
	if err := r.addExtra(m); err != nil {
		return err
	}
	m[mapVersion] = r.version
	if r.expires != 0 {
		m[mapExpires] = timeOfExpiry(r.expires)
	}
	v.Set(reflect.ValueOf(m).Convert(v.Type()))
	return nil
}
