package repo

import (
	"fmt"
	"strings"
	"time"
)

// A Key names one record: the values of the schema's Partition and Sort fields,
// in that order. Integers of any size fit integer fields; a type that implements
// encoding.TextMarshaler and TextUnmarshaler fits a text field.
type Key []any

// String returns the parts joined by '/'. It is meant for people: two keys may
// have the same string.
func (k Key) String() string {
	parts := make([]string, len(k))
	for i, p := range k {
		switch p := p.(type) {
		case time.Time:
			parts[i] = p.UTC().Format(time.RFC3339Nano)
		default:
			parts[i] = fmt.Sprint(p)
		}
	}
	return strings.Join(parts, "/")
}
