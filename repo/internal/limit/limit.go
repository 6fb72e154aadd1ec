package limit

import "time"

// MaxIndexes is how many indexes a collection has at most. MongoDB takes no more beside that of
// the keys.
const MaxIndexes = 63

// How large a record may be.
const (
	MaxKey    = 1 << 10 // bytes of a key's text
	MaxRecord = 1 << 20 // bytes of a record's values
	MaxRows   = 256     // index rows of a record
)

// How long a record is remembered.
const (
	RingSize        = 4                  // tokens that a record keeps
	Retention       = 15 * time.Minute   // how long a deleted record stays as a tombstone
	RemoteRetention = 7 * 24 * time.Hour // where an index is remote
	ClockMargin     = time.Minute        // for clocks that differ
)

// BatchSize is how many records are read at once for an index that does not cover.
const BatchSize = 256

// FewRows is how many rows a range that begins anew asks for.
const FewRows = 8

// MaxDepth is how deep lists, maps and structs may be nested. It also ends the
// encoding of a value that holds itself.
const MaxDepth = 32

// MostEdits is how many fields a record may differ in to be sent as a patch.
const MostEdits = 64

// MaxSorted bounds the records that Scan sorts in memory.
const MaxSorted = 100_000

// MaxRanked bounds the records that are ranked in memory.
const MaxRanked = 10_000

// MaxAttempts bounds how often a write that has no expected version is tried
// again after another writer was faster.
const MaxAttempts = 50

// SmallEdit is how many bytes edits may have that are sent without a look at the record's size.
const SmallEdit = 4 << 10

// DefaultPage is how many records a page has unless the query says.
const DefaultPage = 50
