package driver

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// A Token names one attempt to write: 48 bits of Unix milliseconds and 80
// random bits, the layout of a ULID. Stores compare tokens for equality only. Package repo
// alone looks at their times, and never without a margin for clocks that differ. The zero
// Token stands for "no row".
type Token [16]byte

// NewToken returns a token that was never returned before, here or elsewhere.
func NewToken() Token {
	var t Token
	rand.Read(t[:]) // never fails: crypto/rand ends the program instead
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(time.Now().UnixMilli()))
	copy(t[:6], ms[2:])
	return t
}

// IsZero reports whether t is the zero Token.
func (t Token) IsZero() bool { return t == Token{} }

// Millis returns the Unix time in milliseconds at which t was made, by the
// clock of whoever made it.
func (t Token) Millis() int64 {
	var ms [8]byte
	copy(ms[2:], t[:6])
	return int64(binary.BigEndian.Uint64(ms[:]))
}

// String returns 32 hexadecimal digits, or "" for the zero Token.
func (t Token) String() string {
	if t.IsZero() {
		return ""
	}
	return hex.EncodeToString(t[:])
}

// ParseToken reads what [Token.String] wrote.
func ParseToken(s string) (Token, error) {
	var t Token
	if s == "" {
		return t, nil
	}
	if len(s) != hex.EncodedLen(len(t)) {
		return t, fmt.Errorf("token of %d characters, want %d hexadecimal digits: %w", len(s), hex.EncodedLen(len(t)), ErrInvalid)
	}
	if _, err := hex.Decode(t[:], []byte(s)); err != nil {
		return Token{}, fmt.Errorf("token is not hexadecimal: %w", ErrInvalid)
	}
	return t, nil
}
