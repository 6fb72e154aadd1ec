package cassandra

import (
	"context"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

const askTime = `SELECT toUnixTimestamp(now()) FROM system.local`

// Time returns what the clock of the server shows that is asked.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	if err := s.enter(ctx); err != nil {
		return time.Time{}, err
	}
	defer s.leave()
	const doing = "tell the time"
	iter, err := s.read(ctx, doing, gocql.One, askTime)
	if err != nil {
		return time.Time{}, err
	}
	var ms int64
	if !iter.Scan(&ms) {
		return time.Time{}, s.failed(ctx, doing, iter.Close())
	}
	return time.UnixMilli(ms), s.failed(ctx, doing, iter.Close())
}
