package record

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
)

// A union is the struct types of records that one interface type stands for. A text field tells them apart.
type union struct {
	typ   reflect.Type // the interface
	field string
	of    map[string]*member // by the value of the field; under "" what all others are
	types map[reflect.Type]*member
}

// A member is one type of a union.
type member struct {
	*Mapping
	name string
	typ  reflect.Type // the struct
	kind *placedField // that tells the types apart
}

// UnionOf compiles an interface type whose values are pointers to structs. What is wrong with it is the shape's fault.
func UnionOf(t, version reflect.Type, field string, of map[string]any) *Mapping {
	u := &union{t, field, map[string]*member{}, map[reflect.Type]*member{}}
	s := &Mapping{union: u, versions: version}
	var faults []error
	if of[""] == nil {
		faults = append(faults, fmt.Errorf("records of a type that this program does not know have none in Types; name one under %q, with a field for undeclared fields: %w", "", driver.ErrSchema))
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		m, err := u.add(t, version, name, of[name])
		if faults = append(faults, err); m != nil {
			faults = append(faults, m.Fault, s.merge(m.Mapping))
		}
	}
	s.markOptional(len(u.of))
	s.Fault = errors.Join(append(faults, s.mayExpire())...)
	return s
}

// add adds the type of a value to the union.
func (u *union) add(t, version reflect.Type, name string, value any) (*member, error) {
	typ := reflect.TypeOf(value)
	if typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == nil || typ.Kind() != reflect.Struct:
		return nil, fmt.Errorf("type %q of Types is %T, not a struct: %w", name, value, driver.ErrSchema)
	case !reflect.PointerTo(typ).Implements(t):
		return nil, fmt.Errorf("type %q of Types: *%s is no %s: %w", name, typ, t, driver.ErrSchema)
	case u.types[typ] != nil:
		return nil, fmt.Errorf("type %s is in Types twice, as %q and %q: %w", typ, u.types[typ].name, name, driver.ErrSchema)
	}
	s, err := ShapeOf(typ, version)
	if err != nil {
		return nil, err
	}
	m := &member{s, name, typ, nil}
	u.of[name], u.types[typ] = m, m
	i := slices.IndexFunc(s.Fields, func(f placedField) bool { return f.Name == u.field })
	switch {
	case i < 0 || s.Fields[i].Kind != driver.String:
		return nil, fmt.Errorf("type %s lacks the text field %q, which tells the types apart: %w", typ, u.field, driver.ErrSchema)
	case name == "" && s.Extra == nil:
		return nil, fmt.Errorf("type %s stands for types that this program does not know, so it needs a field for undeclared fields, `repo:\",extra\"`: %w", typ, driver.ErrSchema)
	}
	m.kind = &s.Fields[i]
	return m, nil
}

// merge adds the fields of a member to those of the union.
func (s *Mapping) merge(of *Mapping) error {
	var faults []error
	for _, f := range of.Fields {
		i := slices.IndexFunc(s.Fields, func(o placedField) bool { return o.Name == f.Name })
		if i < 0 {
			c := *f.coder
			f.coder, f.in = &c, 1
			s.Fields = append(s.Fields, f)
			continue
		}
		have := &s.Fields[i]
		if have.Kind != f.Kind || have.Elem != f.Elem || have.Nanos != f.Nanos {
			faults = append(faults, fmt.Errorf("field %s is of kind %s in one of the types and %s in another: %w", f.Name, have.Kind, f.Kind, driver.ErrSchema))
		}
		if f.IsScalar() && have.IsScalar() {
			have.in++
		}
		have.part, have.parts = eitherPart(have.part, f.part), eitherNames(have.parts, f.parts)
	}
	s.merged(&s.Version, of.Version)
	s.merged(&s.Expires, of.Expires)
	s.merged(&s.Extra, of.Extra)
	return errors.Join(faults...)
}

func (s *Mapping) merged(have *[]int, of []int) {
	if *have == nil {
		*have = of
	}
}

// eitherPart returns the parts that a field has in one type or another. One that is of several kinds may be of any.
func eitherPart(a, b func(string) *Field) func(string) *Field {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return func(name string) *Field {
		f, g := a(name), b(name)
		switch {
		case f == nil:
			return g
		case g == nil:
			return f
		}
		both := &Field{coder: &coder{part: eitherPart(f.part, g.part), parts: eitherNames(f.parts, g.parts)}}
		if f.Kind == g.Kind && f.Elem == g.Elem && f.Nanos == g.Nanos {
			both.Kind, both.Elem, both.Nanos = f.Kind, f.Elem, f.Nanos
		}
		if f.Empty.Equal(g.Empty) {
			both.Empty = f.Empty
		}
		return both
	}
}

// eitherNames returns the names of the parts that a field has in one type or another, nil where one may have any.
func eitherNames(a, b func() []string) func() []string {
	if a == nil || b == nil {
		return nil
	}
	return func() []string {
		names := append(a(), b()...)
		slices.Sort(names)
		return slices.Compact(names)
	}
}

// markOptional says of fields that not all types have, or not as scalars, that records may lack them.
func (s *Mapping) markOptional(types int) {
	for i := range s.Fields {
		f := &s.Fields[i]
		f.optional = f.in < types
	}
}

// mayExpire is ErrSchema if only some of the types say when their records expire.
func (s *Mapping) mayExpire() error {
	for _, m := range s.union.of {
		if s.Expires != nil && m.Expires == nil {
			return fmt.Errorf("type %s has no field `repo:\",expires\"`, and others have: %w", m.typ, driver.ErrSchema)
		}
	}
	return nil
}

// IsUnion reports whether records are of several types.
func (s *Mapping) IsUnion() bool { return s.union != nil }

// memberOf returns the type of v, a value of the interface type, and the struct that it points to.
func (u *union) memberOf(v reflect.Value) (*member, reflect.Value, error) {
	p := v.Elem()
	if !p.IsValid() || p.Kind() != reflect.Pointer || p.IsNil() {
		return nil, p, failure.Invalid("the record is nil, or no pointer to a struct")
	}
	m := u.types[p.Type().Elem()]
	if m == nil {
		return nil, p, failure.Invalid("the record is a %s, which Types lacks", p.Type())
	}
	return m, p.Elem(), nil
}

// encode is Encode of a union.
func (u *union) encode(v reflect.Value, r *Record, cols []driver.Column) error {
	m, of, err := u.memberOf(v)
	if err != nil {
		return err
	}
	if err := u.name(m, of); err != nil {
		return err
	}
	if err := m.Encode(of, r, cols); err != nil {
		return err
	}
	r.Keeps = m.Extra == nil
	return r.declare(cols)
}

// name makes the field that tells the types apart say which one a record has.
func (u *union) name(m *member, v reflect.Value) error {
	has, err := m.kind.Of(v)
	if err != nil {
		return err
	}
	of := u.of[has.Str()]
	switch {
	case m.name == "" && of != nil && of != m:
		return failure.Invalid("the record is a %s, and its field %s says %q, which is %s", m.typ, u.field, of.name, of.typ)
	case m.name == "" || has.Str() == m.name:
		return nil
	case has.Str() != "":
		return failure.Invalid("the record is a %s, and its field %s does not say %q; clear the field", m.typ, u.field, m.name)
	}
	return m.kind.Set(v, driver.StringValue(m.name))
}

// declare moves undeclared fields to the columns that there are of their names, for other types.
func (r *Record) declare(cols []driver.Column) error {
	rest := r.Extra[:0]
	for _, p := range r.Extra {
		at := slices.IndexFunc(cols, func(c driver.Column) bool { return c.Name == p.Name })
		switch {
		case at < 0:
			rest = append(rest, p)
		case cols[at].Kind != p.Value.Kind():
			return failure.Invalid("field %s is of kind %s, not %s", p.Name, cols[at].Kind, p.Value.Kind())
		default:
			r.Vals[at] = p.Value
		}
	}
	r.Extra = rest
	return nil
}

// decode is Decode of a union.
func (u *union) decode(r *Record, v reflect.Value) error {
	m := u.at(r)
	p := reflect.New(m.typ)
	v.Set(p)
	return m.Decode(r, p.Elem())
}

// at returns the type of a stored record.
func (u *union) at(r *Record) *member {
	at := u.of[""].kind.At
	if at < len(r.Vals) {
		if m := u.of[r.Vals[at].Str()]; m != nil {
			return m
		}
	}
	return u.of[""]
}

// KeepsSome reports whether records of some types leave undeclared fields as they are.
func (s *Mapping) KeepsSome() bool {
	if s.union == nil {
		return false
	}
	for _, m := range s.union.of {
		if m.Extra == nil {
			return true
		}
	}
	return false
}

// Decides reports whether the field at a position says of which type a record is.
func (s *Mapping) Decides(at int) bool { return s.union != nil && s.union.of[""].kind.At == at }

// FieldIn returns the field at a position of the type that a record has, nil where it is undeclared, which -1 stands
// for. It is ErrInvalid if the type has no such field, and none for undeclared ones.
func (s *Mapping) FieldIn(r *Record, at int) (*Field, error) {
	if s.union == nil && at < 0 {
		return nil, nil
	}
	var of *member
	if s.union != nil {
		of = s.union.at(r)
		s = of.Mapping
	}
	for i := range s.Fields {
		if s.Fields[i].At == at && at >= 0 {
			return &s.Fields[i].Field, nil
		}
	}
	if of != nil && of.Extra == nil {
		return nil, failure.Invalid("records of the type %s have no such field", of.typ)
	}
	return nil, nil
}
