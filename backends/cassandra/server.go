package cassandra

import (
	"context"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

const askTime = `SELECT toUnixTimestamp(now()) FROM system.local`

// time asks one server.
func (s *store) time(ctx context.Context) (time.Time, error) {
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

// erase removes the keyspace.
func (s *store) erase(ctx context.Context) error {
	return s.change(ctx, "erase", "DROP KEYSPACE IF EXISTS "+quoted(s.keyspace))
}
