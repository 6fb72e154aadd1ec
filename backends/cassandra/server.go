package cassandra

import (
	"context"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

const askTime = `SELECT toUnixTimestamp(now()) FROM system.local`

// time asks one server.
func (c *conn) time(ctx context.Context) (time.Time, error) {
	var ms int64
	err := c.each(ctx, "tell the time", c.query(gocql.One, askTime).PageState(nil), func() {}, &ms)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(ms), nil
}

// erase removes the keyspace.
func (c *conn) erase(ctx context.Context) error {
	return c.change(ctx, "erase", "DROP KEYSPACE IF EXISTS "+quoted(c.keyspace))
}
