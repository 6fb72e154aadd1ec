package redis

import (
	"context"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// cpu asks all masters.
func (s *store) cpu(ctx context.Context) (time.Duration, error) {
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

func (s *store) cpuOf(ctx context.Context, client goredis.UniversalClient) (total time.Duration, err error) {
	info, err := s.info(ctx, "processor time: INFO", client, "cpu")
	if err != nil {
		return 0, err
	}
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			return 0, who.Unsupported("processor time: %s does not tell %s", s.addr, name)
		}
		total += time.Duration(seconds * float64(time.Second))
	}
	return total, nil
}
