package testserver

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"
)

func redisKind() kind {
	return kind{
		store:    Redis,
		variable: "POLYSTORE_TEST_REDIS",
		scheme:   "redis",
		path:     "/0",
		image:    "redis:7.4.9",
		// As Redis is used mostly. Kill -9 may lose the last two seconds: a test that must lose nothing
		// starts a server with --appendfsync always.
		args:      []string{"--save", "", "--appendonly", "yes", "--appendfsync", "everysec"},
		container: redisContainer,
		prepare:   func(context.Context, string) error { return nil },
		check:     checkRedis,
	}
}

func redisContainer(port string, args []string) (cmd, env []string) {
	// Outside its container nobody reaches the server but through the published loopback port.
	return append([]string{"redis-server", "--port", port, "--protected-mode", "no"}, args...), nil
}

func checkRedis(ctx context.Context, url string) error {
	opts, err := goredis.ParseURL(url)
	if err != nil {
		return errURL
	}
	opts.MaxRetries, opts.DialerRetries = -1, 1 // who wants it again asks again
	client := goredis.NewClient(opts)
	return errors.Join(client.Ping(ctx).Err(), client.Close())
}
