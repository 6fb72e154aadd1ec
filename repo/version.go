package repo

import "github.com/polystore/polystore/repo/driver"

// A Version names one state of a record: it is another one after every write and
// never an earlier one. It is opaque: two Versions are equal or not, and have no
// order. Its text is 32 hexadecimal digits, fit for an HTTP ETag; the zero
// Version, whose text is "", stands for a record that was not read or written.
type Version driver.Token

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

// versionOf returns the version of the record in a row.
func versionOf(row *driver.Row) Version {
	if len(row.Ring) > 0 {
		return Version(row.Ring[0])
	}
	if row.Dead {
		return Version{} // a fence made it; nobody wrote a record here
	}
	return Version(row.Rev)
}
