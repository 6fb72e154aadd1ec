package scan

import (
	"crypto/hmac"
	"crypto/sha256"

	"github.com/polystore/polystore/repo/internal/store"
)

const (
	sumSize = 8
	macSize = 16
)

// Seal binds a text that goes to clients, a cursor's or an outcome's, to what it is for: by an
// HMAC with [Options.CursorKey], by a checksum without, which anybody can make.
func Seal(s *store.Handle, body, purpose []byte) []byte {
	if key := s.Opts.CursorKey; len(key) > 0 {
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
func sealSize(s *store.Handle) int {
	if len(s.Opts.CursorKey) > 0 {
		return macSize
	}
	return sumSize
}
