package cassandra

import (
	"context"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// write writes the row of a commit to a plain table, without a condition. With every statement goes the time at which it was first sent, so that
//
//   - a put that comes late, behind a drop that was sent after it, changes nothing,
//   - a put that is sent after a drop, to mend what should not have been dropped, counts.
//
// Where the clocks of two programs differ by more than lies between their statements, a row
// that was dropped can come back. Nobody takes it for more than it is: the record does not
// have its token. The next drop that is sent later than the put by its clock removes it.
func (s *Store) write(ctx context.Context, c *call) error {
	text, args, err := c.plan[0].statement(&c.token, true)
	if err != nil {
		return err
	}
	if err := s.small(sizeOf(args)); err != nil {
		return err
	}
	q := s.query(s.level, text, args...).WithTimestamp(time.Now().UnixMicro())
	answer, err := run(ctx, func() *gocql.Iter { return q.IterContext(ctx) })
	if err == nil {
		err = answer.Close()
	}
	if codeOf(err) == gocql.ErrCodeUnavailable { // which the server says before it sends such a write to any
		return s.failed(ctx, "commit", err)
	}
	return s.uncertain(ctx, err)
}
