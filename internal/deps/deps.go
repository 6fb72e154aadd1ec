package deps

import (
	_ "github.com/HdrHistogram/hdrhistogram-go"
	_ "github.com/anishathalye/porcupine"
	_ "github.com/apache/cassandra-gocql-driver/v2"
	_ "github.com/cockroachdb/pebble/v2"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/ory/dockertest/v3"
	_ "github.com/redis/go-redis/v9"
	_ "go.mongodb.org/mongo-driver/v2/mongo"
	_ "golang.org/x/perf/benchmath"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "pgregory.net/rapid"
)
