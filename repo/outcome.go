package repo

import (
	"github.com/polystore/polystore/repo/internal/commit"
)

// An Outcome names a write whose outcome was unknown; it is in [Error.Outcome]. Its text can be
// kept and given to [Repo.Resolve] later, in any program that has the same collection open.
//
// The text names a record, and Resolve may write a tombstone under that key. So take no Outcome
// from a client unless [Options.CursorKey] is set. With this key the text is signed, and Resolve
// refuses a forged text. Without it anybody can forge the text.
type Outcome struct{ of commit.Outcome }

// MarshalText returns the text of o.
func (o Outcome) MarshalText() ([]byte, error) { return o.of.MarshalText() }

// UnmarshalText reads the text of an Outcome. Any other text is ErrInvalid.
func (o *Outcome) UnmarshalText(text []byte) error { return o.of.UnmarshalText(text) }

// A Verdict is what became of a write.
type Verdict uint8

// The verdicts. Committed never becomes NotCommitted, or the reverse; Unknown may
// become either as long as the record is not written further.
const (
	Unknown      = Verdict(commit.Unsettled)
	Committed    = Verdict(commit.Committed)
	NotCommitted = Verdict(commit.NotCommitted)
)

// String returns "unknown", "committed" or "not committed".
func (v Verdict) String() string {
	switch v {
	case Committed:
		return "committed"
	case NotCommitted:
		return "not committed"
	}
	return "unknown"
}
