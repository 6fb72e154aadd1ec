package cassandra

import (
	"context"
	"hash/maphash"
)

// Commits of one store to one partition wait for each other here: at the server they
// would interrupt one another, and some would end with an unknown outcome.
type locks struct {
	seed  maphash.Seed
	holds [512]chan struct{}
}

func newLocks() locks {
	l := locks{seed: maphash.MakeSeed()}
	for i := range l.holds {
		l.holds[i] = make(chan struct{}, 1)
	}
	return l
}

// lock waits for the lock of a partition, or the end of the context. Without an error
// the caller must receive from the channel.
func (l *locks) lock(ctx context.Context, table, partition string) (<-chan struct{}, error) {
	at := maphash.Comparable(l.seed, [...]string{table, partition})
	hold := l.holds[at%uint64(len(l.holds))]
	select {
	case hold <- struct{}{}:
		return hold, nil
	case <-ctx.Done():
		return nil, who.Over(ctx)
	}
}
