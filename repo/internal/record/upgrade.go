package record

import (
	"fmt"
	"reflect"

	"github.com/polystore/polystore/repo/driver"
)

// An Upgrader has records of older formats: repo.Upgrader.
type Upgrader interface {
	Format() (at *int, now int)
	Upgrade(from int) error
}

// findFormat finds the field that says in which format a record is.
func (s *Mapping) findFormat() error {
	v := reflect.New(s.derived)
	at, now := v.Interface().(Upgrader).Format()
	if now < 0 {
		return fmt.Errorf("the format of %s is %d; it begins with 0: %w", s.derived, now, driver.ErrSchema)
	}
	for i := range s.Fields {
		field := v.Elem().FieldByIndex(s.Fields[i].index)
		if p, ok := field.Addr().Interface().(*int); ok && p == at {
			s.format = i + 1
			return nil
		}
	}
	return fmt.Errorf("Format of %s returns no pointer to an int field that is stored: %w", s.derived, driver.ErrSchema)
}

// upgrade brings v, which was decoded, to the newest format. One that is newer stays as it is.
func (s *Mapping) upgrade(v reflect.Value) error {
	if s.format == 0 {
		return nil
	}
	u := v.Addr().Interface().(Upgrader)
	at, now := u.Format()
	if *at < 0 {
		return fmt.Errorf("format %d of the record is below 0: %w", *at, driver.ErrCorrupt)
	}
	for *at < now {
		from := *at
		if err := u.Upgrade(from); err != nil {
			return fmt.Errorf("upgrade from format %d: %w", from, err)
		}
		*at = from + 1
	}
	return nil
}

// IsOld reports whether a record is in an older format.
func (s *Mapping) IsOld(r *Record) bool {
	if s.union != nil {
		return s.union.at(r).IsOld(r)
	}
	if s.format == 0 {
		return false
	}
	_, now := reflect.New(s.derived).Interface().(Upgrader).Format()
	at := s.Fields[s.format-1].At
	return now > 0 && (r.Vals[at].IsNone() || r.Vals[at].Int() < int64(now))
}
