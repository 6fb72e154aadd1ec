package nested

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A keyField is a field of the key of the records.
type keyField struct {
	index []int
	mark  byte // of its kind, before each part of a key's text
}

// The marks of the kinds of key fields.
const (
	textMark    = 's'
	integerMark = 'i'
	boolMark    = 'b'
	timeMark    = 't'
)

func keyFieldOf(members map[string]member, name string) (keyField, error) {
	m, ok := members[name]
	k := keyField{index: m.index}
	switch {
	case !ok:
		return k, fmt.Errorf("the records have no field %q, which is part of the key: %w", name, repo.ErrSchema)
	case m.typ == reflect.TypeFor[time.Time]() && m.option == "":
		k.mark = timeMark
	case isMarshaler(m.typ) && m.typ != reflect.TypeFor[time.Time](), kindOf(m.typ) == text:
		k.mark = textMark
	case kindOf(m.typ) == integer:
		k.mark = integerMark
	case kindOf(m.typ) == truth:
		k.mark = boolMark
	}
	if k.mark == 0 || m.typ.Kind() == reflect.Pointer {
		return k, fmt.Errorf("field %s of the key is of type %s; here a key has texts, integers, bools and times of milliseconds: %w", name, m.typ, repo.ErrSchema)
	}
	return k, nil
}

var (
	partEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	partUnescaper = strings.NewReplacer("~0", "~", "~1", "/")
)

// ownerOf returns the text of a record's key: for each part a mark of the kind and the value, with '/' between the
// parts.
func (s *shape) ownerOf(rec reflect.Value) (string, error) {
	parts := make([]string, len(s.keys))
	for i, k := range s.keys {
		part, err := k.textOf(rec.FieldByIndex(k.index))
		if err != nil {
			return "", err
		}
		parts[i] = string(k.mark) + partEscaper.Replace(part)
	}
	return strings.Join(parts, "/"), nil
}

func (k keyField) textOf(v reflect.Value) (string, error) {
	if k.mark == timeMark {
		return strconv.FormatInt(v.Interface().(time.Time).UnixMilli(), 10), nil
	}
	if k.mark == textMark && isMarshaler(v.Type()) {
		m, ok := v.Interface().(encoding.TextMarshaler)
		if !ok {
			m = v.Addr().Interface().(encoding.TextMarshaler)
		}
		b, err := m.MarshalText()
		if err != nil {
			return "", fmt.Errorf("the text of the key cannot be made: %w: %w", driver.Hide(err, "(redacted)"), repo.ErrInvalid)
		}
		return string(b), nil
	}
	x, err := valueOf(v)
	return x.text, err
}

// keyOf returns the key that has a text. It reports false for texts that ownerOf does not make.
func (s *shape) keyOf(owner string) (repo.Key, bool) {
	parts := strings.Split(owner, "/")
	if len(parts) != len(s.keys) {
		return nil, false
	}
	key := make(repo.Key, len(parts))
	for i, k := range s.keys {
		if parts[i] == "" || parts[i][0] != k.mark {
			return nil, false
		}
		part := partUnescaper.Replace(parts[i][1:])
		x, again := partOf(k.mark, part)
		if again != part || partEscaper.Replace(part) != parts[i][1:] {
			return nil, false
		}
		key[i] = x
	}
	return key, true
}

// partOf returns the value that a text stands for, and the text that stands for this value.
func partOf(mark byte, part string) (x any, again string) {
	switch mark {
	case integerMark, timeMark:
		n, _ := strconv.ParseInt(part, 10, 64)
		if x = n; mark == timeMark {
			x = time.UnixMilli(n).UTC()
		}
		return x, strconv.FormatInt(n, 10)
	case boolMark:
		return part == "true", strconv.FormatBool(part == "true")
	}
	return part, part
}
