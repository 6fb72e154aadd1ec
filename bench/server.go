package main

import (
	"context"
	"errors"
	"time"
)

// A server is a store outside of the processes of the candidates.
type server struct {
	name       string // of its flag, and of its settings in -only
	candidates []candidate
	trees      []candidate

	// wipe removes all that candidates have written whose names a prefix begins.
	wipe func(ctx context.Context, url, prefix string) error

	// cpu returns the processor time that the server has used since it started.
	cpu func(ctx context.Context, url string) (time.Duration, error)

	// size returns the bytes that the records of a candidate take with their indexes; nil
	// where the server does not tell.
	size func(ctx context.Context, at place) (int64, error)
}

// The names of the servers.
const (
	redisName     = "redis"
	mongoName     = "mongo"
	cassandraName = "cassandra"
)

// serverOf returns the server of a name; "" is no server.
func serverOf(name string) *server {
	switch name {
	case redisName:
		return &server{name, onRedis, treesOnRedis, wipeRedis, redisCPU, nil}
	case mongoName:
		return &server{name, onMongo, treesOnMongo, wipeMongo, mongoCPU, mongoSize}
	case cassandraName:
		return &server{name, onCassandra, nil, wipeCassandra, cassandraCPU, cassandraSize}
	}
	return &server{
		candidates: onPebble,
		trees:      treesOnPebble,
		wipe:       func(context.Context, string, string) error { return nil },
		cpu:        func(context.Context, string) (time.Duration, error) { return 0, nil },
	}
}

// urls says where servers are, by name.
type urls map[string]string

// of returns where the server of a setting is, which must be said.
func (u urls) of(s *setting) (string, error) {
	if s.Store != "" && u[s.Store] == "" {
		return "", errors.New("-only " + s.Store + ": say where it is: -" + s.Store + " URL")
	}
	return u[s.Store], nil
}
