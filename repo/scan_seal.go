package repo

import (
	"crypto/hmac"
	"crypto/sha256"
)

const (
	sumSize = 8
	macSize = 16
)

// seal binds a text that goes to clients, a cursor's or an outcome's, to what it is for: by an
// HMAC with [Options.CursorKey], by a checksum without, which anybody can make.
func seal(s *handle, body, purpose []byte) []byte {
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
func sealSize(s *handle) int {
	if len(s.opts.CursorKey) > 0 {
		return macSize
	}
	return sumSize
}
