package repo

import (
	"reflect"

	"github.com/polystore/polystore/repo/driver"
)

// A Version names one state of a record. Every write gives the record a new Version; no earlier
// Version comes back. A Version is opaque: two Versions are equal or not, and have no order. Its
// text is 32 hexadecimal digits, fit for an HTTP ETag. The zero Version, whose text is "", stands
// for a record that was not read or written.
type Version driver.Token

var versionType = reflect.TypeFor[Version]()

// IsZero reports whether v is the zero Version.
func (v Version) IsZero() bool { return driver.Token(v).IsZero() }

// String returns the text of v.
func (v Version) String() string { return driver.Token(v).String() }

// MarshalText returns the text of v.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the text of a Version. Any other text is ErrInvalid.
func (v *Version) UnmarshalText(text []byte) error {
	t, err := driver.ParseToken(string(text))
	if err == nil {
		*v = Version(t)
	}
	return err
}
