package redis

import (
	"context"
	"time"

	"github.com/polystore/polystore/backends/redis/internal/wire"
)

// time asks the server, or one of the masters of a cluster.
func (s *store) time(ctx context.Context) (time.Time, error) {
	const doing = "tell the time"
	r, err := s.ask(ctx, doing, "time")
	if wire.CodeOf(err) == "NOPERM" {
		return time.Time{}, who.Unsupported("%s: %s: the user may not run TIME", doing, s.addr)
	}
	if err != nil {
		return time.Time{}, err
	}
	n := r.List()
	seconds, micros := r.Number(), r.Number()
	if n != 2 || r.Bad {
		return time.Time{}, who.Unsupported("%s: the answer of %s cannot be read", doing, s.addr)
	}
	return time.Unix(seconds, micros*1000), nil
}
