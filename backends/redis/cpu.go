package redis

import (
	"context"
	"strconv"
	"time"
)

// CPU returns the processor time of the server's process so far, for all its
// clients and databases. Those that it forks, to write a snapshot or its log anew,
// are not in it.
func (s *Store) CPU(ctx context.Context) (time.Duration, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	r, err := s.ask(ctx, "processor time: INFO", "info", "cpu")
	if err != nil {
		return 0, err
	}
	text, _ := r.text()
	info := parseInfo(text)
	var total time.Duration
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			return 0, unsupported("processor time: %s does not tell %s", s.addr, name)
		}
		total += time.Duration(seconds * float64(time.Second))
	}
	return total, nil
}
