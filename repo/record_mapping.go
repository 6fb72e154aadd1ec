package repo

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/polystore/polystore/repo/driver"
)

// A shape is a record type with the place of each of its fields among the
// values of a record.
type shape struct {
	fields   []placedField
	version  []int   // index of the field of that role, nil if there is none
	token    uintptr // where the version field lies in the struct
	expires  []int
	extra    []int
	isMap    bool         // the type is map[string]any
	versions reflect.Type // of version fields, made from driver.Token
	fault    error        // what is wrong with the fields
}

type placedField struct {
	structField
	at int // position among the values
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
		r.version = *(*driver.Token)(unsafe.Add(p, s.token))
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
		*(*driver.Token)(unsafe.Add(p, s.token)) = r.version
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
		v, ok := s.tokenIn(x)
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
	m[mapVersion] = s.boxed(r.version)
	if r.expires != 0 {
		m[mapExpires] = timeOfExpiry(r.expires)
	}
	v.Set(reflect.ValueOf(m).Convert(v.Type()))
	return nil
}

// shapeOf compiles a record type; cols are filled in by place. What is wrong with its fields is the
// shape's fault.
func shapeOf(t, version reflect.Type) (*shape, error) {
	if t == reflect.TypeFor[map[string]any]() {
		return &shape{isMap: true, versions: version}, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("record type %s is neither a struct nor map[string]any: %w", t, driver.ErrSchema)
	}
	fields, err := structFields(t, newCoders(version))
	s := &shape{fault: err, versions: version}
	for _, f := range fields {
		switch f.role {
		case roleVersion:
			s.version, s.token = f.index, f.offset
		case roleExpires:
			s.expires = f.index
		case roleExtra:
			s.extra = f.index
		default:
			s.fields = append(s.fields, placedField{structField: f, at: -1})
		}
	}
	return s, nil
}

// place gives the shape's fields their positions among cols.
func (s *shape) place(cols []driver.Column) {
	if s.isMap {
		s.fields = nil
		for i, col := range cols {
			s.fields = append(s.fields, placedField{structField: structField{name: col.Name}, at: i})
		}
		return
	}
	for i := range s.fields {
		s.fields[i].at = slices.IndexFunc(cols, func(col driver.Column) bool { return col.Name == s.fields[i].name })
	}
}

// fieldAt returns the field whose value has a position.
func (s *shape) fieldAt(at int) *placedField {
	return &s.fields[slices.IndexFunc(s.fields, func(f placedField) bool { return f.at == at })]
}

var tokenType = reflect.TypeFor[driver.Token]()

// boxed returns a version as it is shown in a map.
func (s *shape) boxed(t driver.Token) any { return reflect.ValueOf(t).Convert(s.versions).Interface() }

// tokenIn returns the version that a map has; ok is false if it is none.
func (s *shape) tokenIn(x any) (t driver.Token, ok bool) {
	v := reflect.ValueOf(x)
	if ok = x != nil && v.Type() == s.versions; ok {
		t = v.Convert(tokenType).Interface().(driver.Token)
	}
	return t, ok
}

// written makes the record v, which was written with the values of r, what it is when it is read: it
// gets its version, if it has a place for it, and the times as they are stored.
func (s *shape) written(v reflect.Value, r *record, version driver.Token) {
	s.round(v, r)
	switch {
	case s.isMap:
		v.Interface().(map[string]any)[mapVersion] = s.boxed(version)
	case s.version != nil:
		*address[driver.Token](v.FieldByIndex(s.version)) = version
	}
}

// positions returns the places of the shape's fields.
func (s *shape) positions() []int {
	var needs []int
	for i := range s.fields {
		needs = append(needs, s.fields[i].at)
	}
	slices.Sort(needs)
	return needs
}
