package redis

import (
	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
)

// Options are the choices of New. The zero Options are good.
type Options struct {
	// Prefix begins the names of all keys, followed by a colon, so that several
	// programs can share a database. It is made of letters, digits, '_', '.' and '-'
	// and has at most 100 bytes; "" is none.
	Prefix string
}

// prefix returns what the names of keys begin with. No name of a table has a
// colon, so stores of different prefixes never meet.
func (o *Options) prefix() (string, error) {
	if o.Prefix == "" {
		return "", nil
	}
	if len(o.Prefix) > 100 {
		return "", invalid("open: a prefix of %d bytes, want at most 100", len(o.Prefix))
	}
	for i := range len(o.Prefix) {
		if !inPrefix(o.Prefix[i]) {
			return "", invalid("open: the prefix %q; want letters, digits, '_', '.' and '-' only", o.Prefix)
		}
	}
	return o.Prefix + ":", nil
}

func inPrefix(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-'
}

// usable returns the client as that of one server, and says which of its settings
// is in the way of the contract.
func usable(client goredis.UniversalClient) (*goredis.Client, error) {
	c, ok := client.(*goredis.Client)
	if !ok {
		return nil, unsupported("open: a client of type %T: want a *redis.Client of one server", client)
	}
	if c == nil {
		return nil, invalid("open: no client")
	}
	o := c.Options()
	switch {
	case !o.ContextTimeoutEnabled:
		return nil, invalid("open: the client does not heed the deadline of a context: set ContextTimeoutEnabled in its options")
	case o.ReadTimeout <= 0 || o.WriteTimeout <= 0:
		return nil, invalid("open: the client waits without end: leave ReadTimeout and WriteTimeout of its options at 0, or above it")
	case o.ClientSideCache != nil || o.ClientSideCacheConfig != nil:
		return nil, invalid("open: the client caches replies, which would answer with what was there before: leave ClientSideCache out of its options")
	}
	return c, nil
}

var (
	_ driver.Store   = (*Store)(nil)
	_ driver.Counter = (*Store)(nil)
	_ driver.Sizer   = (*Store)(nil)
)
