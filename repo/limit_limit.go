package repo

import "time"

// maxIndexes is how many indexes a collection has at most. MongoDB takes no more beside that of
// the keys.
const maxIndexes = 63

const (
	maxKey    = 1 << 10 // bytes of a key's text
	maxRecord = 1 << 20 // bytes of a record's values
	maxRows   = 256     // index rows of a record
)

const (
	ringSize       = 4                  // tokens that a record keeps
	retention      = 15 * time.Minute   // how long a deleted record stays as a tombstone
	looseRetention = 7 * 24 * time.Hour // where an index is loose
	clockMargin    = time.Minute        // for clocks that differ
)

const batchSize = 256 // records read at once for an index that does not cover

// fewRows is how many rows a range that begins anew asks for.
const fewRows = 8

// maxDepth is how deep lists, maps and structs may be nested. It also ends the
// encoding of a value that holds itself.
const maxDepth = 32

// mostEdits is how many fields a record may differ in to be sent as a patch.
const mostEdits = 64

// maxSorted bounds the records that Scan sorts in memory.
const maxSorted = 100_000

// maxAttempts bounds how often a write that has no expected version is tried
// again after another writer was faster.
const maxAttempts = 50

const smallEdit = 4 << 10 // bytes of edits that are sent without a look at the record's size

const defaultPage = 50
