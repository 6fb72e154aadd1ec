package pebble

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
)

// A stripe is the lock of all rows whose keys hash to it. Every commit locks the
// stripes of all keys that it names, whatever its conditions. Rows of an index
// would need none if every commit that touches them also touched their record;
// the interface does not promise it, a condition on such a row must hold too,
// and a lock costs less than a hundredth of a commit.
//
// Changes counts the commits that wrote a row of the stripe. It grows after
// they are visible and before they unlock. So a reader that looks at it first
// and at the row second may later conclude from an equal count that the row is
// still as it was: that is driver.Row.Hint.
//
// Seen is the hint of the row of the stripe that was read last. By it a commit
// whose caller has a version and no hint need not read the row either, if the
// caller read it just before: nobody read another row of the stripe since.
type stripe struct {
	sync.Mutex
	changes atomic.Uint64
	seen    atomic.Uint64
}

// saw notes the hint of a row that was read. Many read the same row, and then
// none of them writes.
func (s *stripe) saw(hint uint64) {
	if s.seen.Load() != hint {
		s.seen.Store(hint)
	}
}

const stripes = 1 << 12

type locks struct {
	seed maphash.Seed
	all  [stripes]stripe
}

// init draws a seed, so that hashes and hence hints of one store mean nothing to
// another.
func (l *locks) init() { l.seed = maphash.MakeSeed() }

func (l *locks) hash(key []byte) uint64 { return maphash.Bytes(l.seed, key) }

func (l *locks) of(hash uint64) *stripe { return &l.all[hash%stripes] }

func (l *locks) lockAll() {
	for i := range l.all {
		l.all[i].Lock()
	}
}

func (l *locks) unlockAll() {
	for i := range l.all {
		l.all[i].Unlock()
	}
}

// hint ties a row at rev, which is zero if there is none, to the number of
// changes that its stripe had before it was read. Two odd multipliers keep
// versions apart even if someone makes tokens that are not random.
func hint(changes, hash uint64, rev driver.Token) uint64 {
	high, low := binary.BigEndian.Uint64(rev[:8]), binary.BigEndian.Uint64(rev[8:])
	return changes ^ hash ^ (high*0x9e3779b97f4a7c15 + low*0xc2b2ae3d27d4eb4f)
}
