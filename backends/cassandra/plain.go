package cassandra

import (
	"context"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
)

// write writes the row of a commit to a plain table, without a condition. With every
// statement goes the time at which it was first sent, so that
//
//   - a put that comes late, behind a drop that was sent after it, changes nothing,
//   - a put that is sent after a drop, to mend what should not have been dropped, counts.
//
// Where the clocks of two programs differ by more than lies between their statements, a row
// that was dropped can come back. Nobody takes it for more than it is: the record does not
// have its token. A drop that knows from a walk when the row was written is later than that.
func (c *commit) write(ctx context.Context) error {
	text, args, err := c.plan[0].statement(&c.token, true)
	if err != nil {
		return err
	}
	if err := c.fits(sizeOf(args)); err != nil {
		return err
	}
	at := time.Now().UnixMicro()
	if op := c.plan[0].Op; op.Do == driver.Delete {
		at = max(at, int64(op.Row.Hint)+1)
	}
	answer, err := run(ctx, c.store.conn.query(c.store.conn.level, text, args...).WithTimestamp(at))
	if err == nil {
		err = answer.Close()
	}
	if codeOf(err) == gocql.ErrCodeUnavailable { // which the server says before it sends such a write to any
		return c.store.conn.failed(ctx, "commit", err)
	}
	return c.store.conn.unfinished(ctx, err)
}
