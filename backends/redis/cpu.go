package redis

import (
	"context"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// CPU returns the processor time of the server's process so far, for all its
// clients and databases, and of all masters of a cluster. Those that it forks, to write a snapshot or its log anew,
// are not in it.
func (s *Store) CPU(ctx context.Context) (time.Duration, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	masters, err := s.masters(ctx, "processor time")
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, client := range masters {
		used, err := s.cpuOf(ctx, client)
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

func (s *Store) cpuOf(ctx context.Context, client goredis.UniversalClient) (total time.Duration, err error) {
	info, err := s.info(ctx, "processor time: INFO", client, "cpu")
	if err != nil {
		return 0, err
	}
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			return 0, unsupported("processor time: %s does not tell %s", s.addr, name)
		}
		total += time.Duration(seconds * float64(time.Second))
	}
	return total, nil
}
