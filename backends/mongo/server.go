package mongo

import (
	"context"
	"time"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
)

// time asks the primary.
func (c *conn) time(ctx context.Context) (time.Time, error) {
	const doing = "tell the time"
	w := order("hello")
	reply, err := c.ask(ctx, doing, "admin", w.End())
	if err != nil {
		return time.Time{}, err
	}
	if e := bson.Find(reply, "localTime"); e.Kind == bson.Date {
		return time.UnixMilli(int64(e.Word())), nil
	}
	return time.Time{}, who.Unsupported("%s: %s does not tell it", doing, c.addr)
}

// cpu asks the primary.
func (c *conn) cpu(ctx context.Context) (time.Duration, error) {
	w := order("serverStatus")
	reply, err := c.run(ctx, "admin", w.End())
	if codeOf(err) == codeUnauthorized {
		return 0, who.Unsupported("processor time: %s: the server tells it to a user with the role clusterMonitor only", c.addr)
	}
	if err != nil {
		return 0, c.failed(ctx, "processor time", err)
	}
	info := bson.Find(reply, "extra_info").Data
	user, ok1 := bson.Find(info, "user_time_us").Number()
	system, ok2 := bson.Find(info, "system_time_us").Number()
	if !ok1 || !ok2 {
		return 0, who.Unsupported("processor time: %s: the server does not tell it", c.addr)
	}
	return time.Duration(user+system) * time.Microsecond, nil
}

// erase removes the database.
func (c *conn) erase(ctx context.Context) error {
	w := order("dropDatabase")
	return c.alone(ctx, "erase", &w, codeNoNamespace)
}
