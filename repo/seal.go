package repo

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

const (
	sumSize = 8
	macSize = 16
)

// seal binds a text that goes to clients, a cursor's or an outcome's, to what it is for: by an
// HMAC with [Options.CursorKey], by a checksum without, which anybody can make.
func (s *Store) seal(body, purpose []byte) []byte {
	if key := s.opts.CursorKey; len(key) > 0 {
		m := hmac.New(sha256.New, key)
		m.Write(body)
		m.Write([]byte{0})
		m.Write(purpose)
		return m.Sum(nil)[:macSize]
	}
	h := sha256.New()
	h.Write(body)
	h.Write([]byte{0})
	h.Write(purpose)
	return h.Sum(nil)[:sumSize]
}

// sealSize returns how many bytes seal returns.
func (s *Store) sealSize() int {
	if len(s.opts.CursorKey) > 0 {
		return macSize
	}
	return sumSize
}

// sealOf returns the seal of an outcome. It names the kind of store, besides what the outcome says.
// No cursor has the same, whose body begins otherwise.
func (c *collection) sealOf(o Outcome) (string, error) {
	o.seal = ""
	body, err := o.MarshalText()
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(c.store.seal(body, []byte("outcome of "+c.store.facts.Name))), nil
}

// isOurs says why an outcome cannot be one that this collection, with this key, has given out.
func (c *collection) isOurs(o *Outcome) error {
	if o.in != c.name {
		return invalid("the outcome is of a write to collection %.64q, not of this one", o.in)
	}
	if _, err := c.partsOf(nil, o.key); err != nil {
		return invalid("the outcome is of no record of this collection")
	}
	if len(c.store.opts.CursorKey) == 0 {
		return nil
	}
	want, err := c.sealOf(*o)
	if err != nil || !hmac.Equal([]byte(want), []byte(o.seal)) {
		return invalid("the outcome was changed, or comes from a program with another CursorKey or another store")
	}
	return nil
}
