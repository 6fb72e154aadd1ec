package mongo

import (
	"context"
	"time"
)

// time asks the primary.
func (s *store) time(ctx context.Context) (time.Time, error) {
	const doing = "tell the time"
	w := make(writer, 0, 64)
	w.begin()
	w.int32("hello", 1)
	w.close(0)
	reply, err := s.ask(ctx, doing, "admin", w)
	if err != nil {
		return time.Time{}, err
	}
	in := elementsOf(reply)
	for e, ok := in.next(); ok; e, ok = in.next() {
		if e.name == "localTime" && e.kind == typeDate {
			return time.UnixMilli(int64(e.word())), nil
		}
	}
	return time.Time{}, who.Unsupported("%s: %s does not tell it", doing, s.addr)
}
