package mongo

import (
	"context"
	"time"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
)

// time asks the primary.
func (s *store) time(ctx context.Context) (time.Time, error) {
	const doing = "tell the time"
	w := make(bson.Writer, 0, 64)
	w.Begin()
	w.Int32("hello", 1)
	w.Close(0)
	reply, err := s.ask(ctx, doing, "admin", w)
	if err != nil {
		return time.Time{}, err
	}
	if e := bson.Find(reply, "localTime"); e.Kind == bson.Date {
		return time.UnixMilli(int64(e.Word())), nil
	}
	return time.Time{}, who.Unsupported("%s: %s does not tell it", doing, s.addr)
}
