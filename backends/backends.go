// Package backends opens a store by URL. It is the only package that knows all
// backends: programs import it; libraries import the backends they need.
package backends

import (
	"context"
	"fmt"
	"strings"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Schemes are the URL schemes that Open knows.
var schemes = []string{"memory", "pebble", "redis", "rediss", "unix", "mongodb", "mongodb+srv", "cassandra"}

// Open returns the store that a URL names. Opts may be nil. The URLs are
//
//	memory:                  in the memory of this process
//	pebble:DIR               in a directory; see package pebble for its options
//	redis://HOST:PORT/DB     on a Redis server, rediss:// with TLS, unix://PATH by a socket,
//	                         with ?cluster=true in a Redis Cluster;
//	                         see package redis for users, passwords and options
//	mongodb://HOST:PORT/DB   on a replica set of MongoDB, mongodb+srv:// by a name of DNS;
//	                         see package mongo for users, passwords and options
//	cassandra://HOST:PORT/KS in a keyspace of Cassandra; see package cassandra for users,
//	                         passwords and options
//
// The password of a server need not be in the URL: with option password_env=NAME it is
// in a variable of the environment, with password_file=PATH in a file, which is read when
// the store is opened. Local=true connects to this machine only.
func Open(ctx context.Context, url string, opts *repo.Options) (*repo.Store, error) {
	d, err := OpenDriver(ctx, url)
	if err != nil {
		return nil, err
	}
	return repo.NewStore(d, opts), nil
}

// OpenDriver is Open without package repo around the backend.
func OpenDriver(ctx context.Context, url string) (driver.Store, error) {
	if ctx == nil {
		return nil, fmt.Errorf("open: the context is nil; want context.Background() at the least: %w", driver.ErrInvalid)
	}
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok {
		return nil, fmt.Errorf("open: a URL that has no scheme; use one of %s, as in pebble:DIR: %w", strings.Join(schemes, ", "), driver.ErrInvalid)
	}
	switch scheme {
	case "memory":
		if rest != "" {
			return nil, fmt.Errorf("open memory: takes no address and no options, so write \"memory:\": %w", driver.ErrInvalid)
		}
		return memory.New(nil), nil
	case "pebble":
		return opened(pebble.OpenURL(url))
	case "redis", "rediss", "unix":
		return opened(redis.Open(ctx, url))
	case "mongodb", "mongodb+srv":
		return opened(mongo.Open(ctx, url))
	case "cassandra":
		return opened(cassandra.Open(ctx, url))
	}
	// What stands before the first colon may be a password.
	return nil, fmt.Errorf("open: the scheme of the URL is none of %s: %w", strings.Join(schemes, ", "), driver.ErrInvalid)
}

// opened returns a store, or with an error an interface that is nil.
func opened[S driver.Store](s S, err error) (driver.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
