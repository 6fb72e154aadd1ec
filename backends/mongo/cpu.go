package mongo

import (
	"context"
	"time"
)

// cpu asks the primary.
func (s *store) cpu(ctx context.Context) (time.Duration, error) {
	w := make(writer, 0, 64)
	w.begin()
	w.int32("serverStatus", 1)
	w.close(0)
	reply, err := s.run(ctx, "admin", w)
	if codeOf(err) == codeUnauthorized {
		return 0, who.Unsupported("processor time: %s: the server tells it to a user with the role clusterMonitor only", s.addr)
	}
	if err != nil {
		return 0, s.failed(ctx, "processor time", err)
	}
	found, total := 0, int64(0)
	in := elementsOf(reply)
	for e, ok := in.next(); ok; e, ok = in.next() {
		if e.name != "extra_info" {
			continue
		}
		of := elementsOf(e.data)
		for e, ok := of.next(); ok; e, ok = of.next() {
			if e.name == "user_time_us" || e.name == "system_time_us" {
				n, _ := e.number()
				total += n
				found++
			}
		}
	}
	if found < 2 {
		return 0, who.Unsupported("processor time: %s: the server does not tell it", s.addr)
	}
	return time.Duration(total) * time.Microsecond, nil
}
