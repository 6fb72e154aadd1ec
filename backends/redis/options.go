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
	for i := range len(o.Prefix) {
		if !inPrefix(o.Prefix[i]) {
			return "", who.Invalid("open: the prefix %q; want letters, digits, '_', '.' and '-' only", o.Prefix)
		}
	}
	return o.Prefix + ":", nil
}

func inPrefix(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-'
}

// use makes the store one on a client, or says which of its settings is in the way of
// the contract.
func (s *store) use(client goredis.UniversalClient, replicas int) error {
	if replicas < 0 {
		return who.Invalid("open: MinReplicas is %d; want 0 or more", replicas)
	}
	switch c := client.(type) {
	case nil:
		return errNoClient
	case *goredis.Client:
		return s.useOne(c, replicas)
	case *goredis.ClusterClient:
		return s.useCluster(c, replicas)
	}
	return who.Unsupported("open: a client of type %T: want a *redis.Client or a *redis.ClusterClient", client)
}

var errNoClient = who.Invalid("open: no client")

func (s *store) useOne(c *goredis.Client, replicas int) error {
	if c == nil {
		return errNoClient
	}
	o := c.Options()
	if o.ClientSideCache != nil || o.ClientSideCacheConfig != nil {
		return who.Invalid("open: the client caches replies, which would answer with what was there before: leave ClientSideCache out of its options")
	}
	if err := timely(o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout); err != nil {
		return err
	}
	s.client, s.addr, s.db, s.quorum = c, o.Addr, o.DB, wire.Quorum{Replicas: replicas, Wait: o.ReadTimeout / 2}
	s.maps = o.Protocol != 2
	if replicas > 0 {
		s.client = &wire.Waiter{Client: c, Quorum: s.quorum}
		return nil
	}
	s.line.Init(c)
	return nil
}

func (s *store) useCluster(c *goredis.ClusterClient, replicas int) error {
	if c == nil {
		return errNoClient
	}
	o := c.Options()
	if o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
		return who.Invalid("open: the client reads from replicas, which do not have every commit yet: leave ReadOnly, RouteByLatency and RouteRandomly out of its options")
	}
	if err := timely(o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout); err != nil {
		return err
	}
	r := &wire.Router{ClusterClient: c, Quorum: wire.Quorum{Replicas: replicas, Wait: o.ReadTimeout / 2}, Patience: o.ReadTimeout,
		Creation: s.creation}
	s.maps = o.Protocol != 2
	s.client, s.quorum, s.addr = r, r.Quorum, "the cluster of "+strings.Join(o.Addrs, ", ")
	return nil
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
func (s *store) inCluster() bool {
	_, ok := s.client.(*wire.Router)
	return ok
}
