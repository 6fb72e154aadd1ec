package redis

import (
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
)

// Options are the choices of New. The zero Options are good.
type Options struct {
	// Prefix begins the names of all keys, followed by a colon, so that several
	// programs can share a database. It is made of letters, digits, '_', '.' and '-'
	// and has at most 100 bytes; "" is none.
	Prefix string

	// MinReplicas is how many replicas must have a commit before it is acknowledged;
	// 0 does not wait for any. A commit that fewer have in half the client's
	// ReadTimeout, or three quarters of the time that its context has left, is
	// ErrUnknownOutcome: it is done, and may be lost with the primary. Commits then
	// share no pipelines.
	//
	// This narrows what a failover can lose, and does not end it: what promotes a
	// replica may choose one that has not acknowledged. The servers' own
	// min-replicas-to-write refuses commits before they are done.
	MinReplicas int
}

// prefix returns what the names of keys begin with. No name of a table has a
// colon, so stores of different prefixes never meet.
func (o *Options) prefix() (string, error) {
	if o.Prefix == "" {
		return "", nil
	}
	if len(o.Prefix) > 100 {
		return "", who.Invalid("open: a prefix of %d bytes, want at most 100", len(o.Prefix))
	}
	if strings.ContainsFunc(o.Prefix, isForeign) {
		return "", who.Invalid("open: the prefix %q; want letters, digits, '_', '.' and '-' only", o.Prefix)
	}
	return o.Prefix + ":", nil
}

// isForeign reports whether a prefix cannot have a character.
func isForeign(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
}

// use makes the connection one by a client, or says which of its settings is in the way of
// the contract.
func (c *conn) use(client goredis.UniversalClient, replicas int) error {
	if replicas < 0 {
		return who.Invalid("open: MinReplicas is %d; want 0 or more", replicas)
	}
	switch given := client.(type) {
	case nil:
		return errNoClient
	case *goredis.Client:
		return c.useOne(given, replicas)
	case *goredis.ClusterClient:
		return c.useCluster(given, replicas)
	}
	return who.Unsupported("open: a client of type %T: want a *redis.Client or a *redis.ClusterClient", client)
}

var errNoClient = who.Invalid("open: no client")

func (c *conn) useOne(client *goredis.Client, replicas int) error {
	if client == nil {
		return errNoClient
	}
	o := client.Options()
	if o.ClientSideCache != nil || o.ClientSideCacheConfig != nil {
		return who.Invalid("open: the client caches replies, which would answer with what was there before: leave ClientSideCache out of its options")
	}
	c.client, c.addr, c.db, c.maps = client, o.Addr, o.DB, o.Protocol != 2
	c.quorum = wire.Quorum{Replicas: replicas, Wait: o.ReadTimeout / 2}
	if replicas > 0 {
		c.client = &wire.Waiter{Client: client, Quorum: c.quorum}
	} else {
		c.line.Init(client)
	}
	return timely(o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout)
}

func (c *conn) useCluster(client *goredis.ClusterClient, replicas int) error {
	if client == nil {
		return errNoClient
	}
	o := client.Options()
	if o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
		return who.Invalid("open: the client reads from replicas, which do not have every commit yet: leave ReadOnly, RouteByLatency and RouteRandomly out of its options")
	}
	c.addr, c.maps = "the cluster of "+strings.Join(o.Addrs, ", "), o.Protocol != 2
	c.quorum = wire.Quorum{Replicas: replicas, Wait: o.ReadTimeout / 2}
	c.client = &wire.Router{ClusterClient: client, Quorum: c.quorum, Patience: o.ReadTimeout, Creation: createScript}
	return timely(o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout)
}

// timely says which time-out of a client is missing.
func timely(contexts bool, read, write time.Duration) error {
	switch {
	case !contexts:
		return who.Invalid("open: the client does not heed the deadline of a context: set ContextTimeoutEnabled in its options")
	case read <= 0 || write <= 0:
		return who.Invalid("open: the client waits without end: leave ReadTimeout and WriteTimeout of its options at 0, or above it")
	}
	return nil
}

// inCluster reports whether the keys lie on several servers.
func (c *conn) inCluster() bool {
	_, ok := c.client.(*wire.Router)
	return ok
}
