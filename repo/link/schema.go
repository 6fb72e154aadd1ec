package link

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
)

// A Schema says what links are, and in which order they come.
type Schema struct {
	// Collection is the name of the collection of links, as in [repo.Schema].
	Collection string

	// From and To are the fields of the two ends, which are texts or integers. Together they are the key: a link goes
	// from one end to the other, and links in both directions are two.
	From, To string

	// FromOrder is the order of the links from one end, as [repo.Query.Order] has it: ["-since"] puts the latest first.
	// Nil is the order of To. The fields of an order are never absent: no pointers, no omitempty. An order of other
	// fields than To costs an index.
	FromOrder []string

	// ToOrder is the order of the links to one end. Nil is the order of From.
	ToOrder []string

	// Indexes are further indexes of the links.
	Indexes []repo.Index
}

// complete fills in the orders, and reports what is wrong with a schema for links of a type.
func (s *Schema) complete(link reflect.Type) error {
	if link.Kind() != reflect.Struct {
		return fmt.Errorf("%s is no struct: %w", link, repo.ErrSchema)
	}
	if s.From == "" || s.To == "" {
		return fmt.Errorf("the schema names no From or no To: %w", repo.ErrSchema)
	}
	if len(s.FromOrder) == 0 {
		s.FromOrder = []string{s.To}
	}
	if len(s.ToOrder) == 0 {
		s.ToOrder = []string{s.From}
	}
	var faults []error
	for _, name := range []string{s.From, s.To} {
		if f, ok := fieldOf(link, name); !ok || !isID(f.Type) {
			faults = append(faults, fmt.Errorf("%s has no field %q that is a text or an integer, as an end is: %w", link, name, repo.ErrSchema))
		}
	}
	for _, name := range slices.Concat(s.FromOrder, s.ToOrder) {
		name = strings.TrimPrefix(name, "-")
		if f, ok := fieldOf(link, name); !ok || mayLack(f) {
			faults = append(faults, fmt.Errorf("%s has no field %q that no link lacks; one without it would be found from one end alone: %w", link, name, repo.ErrSchema))
		}
	}
	return errors.Join(faults...)
}

// fieldOf returns the field of a struct that is stored under a name.
func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("repo"), ",")
		if f.IsExported() && cmp.Or(tag, strings.ToLower(f.Name)) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// isID reports whether the values of a type are texts or integers.
func isID(t reflect.Type) bool {
	switch {
	case t.Kind() == reflect.Pointer || t == reflect.TypeFor[time.Time](): // which is stored as a time
		return false
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return true
	}
	return t.Kind() == reflect.String || isInteger(t.Kind())
}

func isInteger(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Uint64 }

// mayLack reports whether a record may lack a field.
func mayLack(f reflect.StructField) bool {
	_, options, _ := strings.Cut(f.Tag.Get("repo"), ",")
	switch f.Type.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Interface:
		return true
	}
	return slices.Contains(strings.Split(options, ","), "omitempty")
}

// records returns the schema of the collection of links.
func (s *Schema) records() repo.Schema {
	all := repo.Schema{Collection: s.Collection, Partition: []string{s.From}, Sort: []string{s.To}}
	if len(s.FromOrder) > 1 || strings.TrimPrefix(s.FromOrder[0], "-") != s.To {
		all.Indexes = append(all.Indexes, repo.Index{Partition: []string{s.From}, Sort: s.FromOrder})
	}
	all.Indexes = append(all.Indexes, repo.Index{Partition: []string{s.To}, Sort: s.ToOrder})
	all.Indexes = append(all.Indexes, s.Indexes...)
	return all
}
