package testserver

import "context"

// A Store names the program that a server runs.
type Store string

// The stores.
const (
	Redis     Store = "redis"
	Mongo     Store = "mongo"
	Cassandra Store = "cassandra"
)

// A kind is what this package knows of a store.
type kind struct {
	store    Store
	variable string // of the environment, names a server
	scheme   string // of its URL
	path     string // of the URL of a server started here
	image    string

	args      []string // of every server, native or in a container
	shared    []string // more of those that nobody kills
	container func(port string, args []string) (cmd, env []string)

	// prepare makes a server that was just started usable, once or again.
	prepare func(ctx context.Context, addr string) error
	// check does a round trip, which fails unless the server can be used for tests.
	check func(ctx context.Context, url string) error
}

func (s Store) kind() kind {
	switch s {
	case Redis:
		return redisKind()
	case Mongo:
		return mongoKind()
	default:
		return cassandraKind()
	}
}
