package record

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
)

// A Mapping is a record type with the place of each of its fields among the
// values of a record.
type Mapping struct {
	Fields   []placedField
	Version  []int   // index of the field of that role, nil if there is none
	token    uintptr // where the version field lies in the struct
	Expires  []int
	Extra    []int
	IsMap    bool         // the type is map[string]any
	others   []column     // of the collection, which the type lacks, and has among its undeclared fields
	union    *union       // the type is an interface, whose types these are; the fields are those of all
	only     []string     // of a map: the fields that it has, or parts of them; nil for all
	versions reflect.Type // of version fields, made from driver.Token
	Fault    error        // what is wrong with the fields
	derived  reflect.Type // the type, if it derives fields or has formats
	derives  bool
	format   int // 1 + which field says in which format a record is; 0 if none does
}

// A Deriver derives fields of itself: repo.Deriver.
type Deriver interface{ Derive() error }

// Derived returns a new value of the type, if it derives fields.
func (s *Mapping) Derived() (v reflect.Value, ok bool) {
	if s.union != nil {
		for _, m := range s.union.of {
			ok = ok || m.derived != nil
		}
		return reflect.New(s.union.typ).Elem(), ok
	}
	if s.derived == nil {
		return v, false
	}
	return reflect.New(s.derived).Elem(), true
}

// Derive lets v, a struct with an address, derive its fields.
func (s *Mapping) Derive(v reflect.Value) error {
	if s.union != nil {
		m, of, err := s.union.memberOf(v)
		if err != nil {
			return err
		}
		return m.Derive(of)
	}
	if s.format > 0 {
		at, now := v.Addr().Interface().(Upgrader).Format()
		*at = max(*at, now)
	}
	if !s.derives {
		return nil
	}
	return v.Addr().Interface().(Deriver).Derive()
}

type placedField struct {
	Field
	At   int      // position among the values
	Path []string // in the value there, nil for the whole
	in   int      // of a union: how many types have it as a scalar
}

// Encode fills r from v, a struct with an address or a map. r.vals has the length
// of all columns.
func (s *Mapping) Encode(v reflect.Value, r *Record, cols []driver.Column) error {
	if s.union != nil {
		return s.union.encode(v, r, cols)
	}
	if s.IsMap {
		return s.encodeMap(v.Interface().(map[string]any), r, cols)
	}
	p := v.Addr().UnsafePointer()
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.store(&r.Vals[f.At], p) {
			continue
		}
		x, err := f.enc(v.FieldByIndex(f.index), 0)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		r.Vals[f.At] = x
	}
	if s.Version != nil {
		r.Version = *(*driver.Token)(unsafe.Add(p, s.token))
	}
	if s.Expires != nil {
		r.Expires = ExpiryOf(*address[time.Time](v.FieldByIndex(s.Expires)))
	}
	if s.Extra == nil {
		return nil
	}
	if err := r.setExtra(v.FieldByIndex(s.Extra).Interface().(map[string]any), s); err != nil || len(s.others) == 0 {
		return err
	}
	return r.declare(cols)
}

// ExpiryOf returns the Unix milliseconds of a time, 0 for the zero time. A time
// too far off for that is the last there is.
func ExpiryOf(t time.Time) int64 {
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

// CheckExtra returns an error for a name that an undeclared field of a record cannot have.
func CheckExtra(name string, s *Mapping) error {
	if err := CheckMapKey(name); err != nil {
		return err
	}
	if name == "" || name[0] == '_' {
		return failure.Invalid("field %.64q: a name may not be empty or begin with '_'", driver.Private(name))
	}
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return failure.Invalid("field %q is declared, so it may not be among the extra ones", name)
		}
	}
	return nil
}

// Decode fills v, which has an address, from values in the order of s.fields' places.
func (s *Mapping) Decode(r *Record, v reflect.Value) error {
	if s.union != nil {
		return s.union.decode(r, v)
	}
	if s.IsMap {
		return s.decodeMap(r, v)
	}
	v.SetZero()
	p := v.Addr().UnsafePointer()
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.At >= len(r.Vals) || r.Vals[f.At].IsNone() || f.Path == nil && f.load(&r.Vals[f.At], p) {
			continue
		}
		x := r.Vals[f.At]
		if f.Path != nil {
			if x = Within(x, f.Path); x.IsNone() {
				continue
			}
		}
		if err := f.Dec(x, v.FieldByIndex(f.index)); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	if s.Version != nil {
		*(*driver.Token)(unsafe.Add(p, s.token)) = r.Version
	}
	if s.Expires != nil {
		*address[time.Time](v.FieldByIndex(s.Expires)) = timeOfExpiry(r.Expires)
	}
	if s.Extra != nil && len(r.Extra)+len(s.others) > 0 {
		m := make(map[string]any, len(r.Extra))
		if err := errors.Join(r.addExtra(m), r.addOthers(m, s.others)); err != nil {
			return err
		}
		if len(m) > 0 {
			v.FieldByIndex(s.Extra).Set(reflect.ValueOf(m))
		}
	}
	return s.upgrade(v)
}

// ShapeOf compiles a record type; cols are filled in by place. What is wrong with its fields is the
// shape's fault.
func ShapeOf(t, version reflect.Type) (*Mapping, error) { return shapeOf(t, newCoders(version)) }

// ViewShapeOf is ShapeOf of a type that records are read as. Its fields may be parts of others, named by a path.
func ViewShapeOf(t, version reflect.Type) (*Mapping, error) {
	m := newCoders(version)
	m.paths = true
	return shapeOf(t, m)
}

func shapeOf(t reflect.Type, m coders) (*Mapping, error) {
	if t == reflect.TypeFor[map[string]any]() {
		return &Mapping{IsMap: true, versions: m.version}, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("record type %s is neither a struct nor map[string]any: %w", t, driver.ErrSchema)
	}
	fields, err := structFields(t, m)
	s := &Mapping{Fault: err, versions: m.version}
	for _, f := range fields {
		switch f.role {
		case roleVersion:
			s.Version, s.token = f.index, f.offset
		case roleExpires:
			s.Expires = f.index
		case roleExtra:
			s.Extra = f.index
		default:
			s.Fields = append(s.Fields, placedField{Field: f, At: -1})
		}
	}
	if s.derives = reflect.PointerTo(t).Implements(reflect.TypeFor[Deriver]()); s.derives {
		s.derived = t
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[Upgrader]()) {
		s.derived = t
		s.Fault = errors.Join(s.Fault, s.findFormat())
	}
	return s, nil
}

// Place gives the shape's fields their positions among cols.
func (s *Mapping) Place(cols []driver.Column) {
	switch {
	case s.only != nil:
		s.Fields = make([]placedField, len(s.only))
		for i, name := range s.only {
			s.Fields[i].Name = name
		}
	case s.IsMap:
		s.Fields = nil
		for i, col := range cols {
			s.Fields = append(s.Fields, placedField{Field: Field{Name: col.Name}, At: i})
		}
		return
	}
	for i := range s.Fields {
		s.Fields[i].place(cols)
	}
	s.others = nil
	for at, col := range cols {
		if !s.declares(col.Name) {
			s.others = append(s.others, column{col.Name, at})
		}
	}
	if s.union != nil {
		for _, m := range s.union.of {
			m.Place(cols)
		}
	}
}

// place finds the position of a field, or of that in which it is.
func (f *placedField) place(cols []driver.Column) {
	name, path := CutPath(f.Name)
	f.Path = path
	f.At = slices.IndexFunc(cols, func(col driver.Column) bool { return col.Name == name })
}

// FieldAt returns the field whose value has a position.
func (s *Mapping) FieldAt(at int) *placedField {
	return &s.Fields[slices.IndexFunc(s.Fields, func(f placedField) bool { return f.At == at })]
}

var tokenType = reflect.TypeFor[driver.Token]()

// boxed returns a version as it is shown in a map.
func (s *Mapping) boxed(t driver.Token) any {
	return reflect.ValueOf(t).Convert(s.versions).Interface()
}

// tokenIn returns the version that a map has; ok is false if it is none.
func (s *Mapping) tokenIn(x any) (t driver.Token, ok bool) {
	v := reflect.ValueOf(x)
	if ok = x != nil && v.Type() == s.versions; ok {
		t = v.Convert(tokenType).Interface().(driver.Token)
	}
	return t, ok
}

// Written makes the record v, which was written with the values of r, what it is when it is read: it
// gets its version, if it has a place for it, and the times as they are stored.
func (s *Mapping) Written(v reflect.Value, r *Record, version driver.Token) {
	if s.union != nil {
		if m, of, err := s.union.memberOf(v); err == nil {
			m.Written(of, r, version)
		}
		return
	}
	s.round(v, r)
	switch {
	case s.IsMap:
		v.Interface().(map[string]any)[mapVersion] = s.boxed(version)
	case s.Version != nil:
		*(*driver.Token)(unsafe.Add(v.Addr().UnsafePointer(), s.token)) = version
	}
}

// Positions returns the places of the shape's fields.
func (s *Mapping) Positions() []int {
	var needs []int
	for i := range s.Fields {
		if at := s.Fields[i].At; at >= 0 {
			needs = append(needs, at)
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}
