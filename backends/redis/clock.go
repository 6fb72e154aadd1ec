package redis

import (
	"context"
	"time"
)

// Time returns what the server's clock shows, in a cluster that of one of its masters.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	if err := s.enter(ctx); err != nil {
		return time.Time{}, err
	}
	defer s.leave()
	const doing = "tell the time"
	r, err := s.ask(ctx, doing, "time")
	if codeOf(err) == "NOPERM" {
		return time.Time{}, unsupported("%s: %s: the user may not run TIME", doing, s.addr)
	}
	if err != nil {
		return time.Time{}, err
	}
	n := r.list()
	seconds, micros := r.number(), r.number()
	if n != 2 || r.bad {
		return time.Time{}, unsupported("%s: the answer of %s cannot be read", doing, s.addr)
	}
	return time.Unix(seconds, micros*1000), nil
}
