package redis

import (
	"context"
	"errors"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
	"github.com/polystore/polystore/repo/driver/frame"
)

// who is what the errors of this package begin with.
const who = frame.Name("redis")

// failed says what an error means when nothing can have been done. It returns nil
// for nil.
func (c *conn) failed(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	remedy, kind := kindOf(err)
	if code := wire.CodeOf(err); code != "" {
		err = frame.Told(err, code)
	} else {
		if cause := frame.Over(ctx); cause != nil {
			return who.Unreached(doing, c.addr, cause, c.dialer.Why())
		}
	}
	return who.Failed(frame.Failure{Doing: doing, Addr: c.addr, Kind: kind, Remedy: remedy}, err)
}

// unfinished says what an error of a commit means that the server did not answer.
func (c *conn) unfinished(ctx context.Context, err error, sent bool) error {
	if !sent || wire.CodeOf(err) != "" {
		return c.failed(ctx, "commit", err)
	}
	return who.Unknown(ctx, c.addr, err)
}

// refusedKeys is failed for commands on keys. If one of them has another type than
// it should, it is named.
func (c *conn) refusedKeys(ctx context.Context, doing string, err error, keys, forms []string) error {
	if wire.CodeOf(err) != "WRONGTYPE" {
		return c.failed(ctx, doing, err)
	}
	for i, key := range keys {
		r, askErr := c.ask(ctx, doing, "type", key)
		if askErr != nil {
			break
		}
		form, _ := r.Text()
		switch {
		case form == "none":
		case form != forms[i]:
			return who.Corrupt("%s: the key %.200q is a %s, not a %s, so it is another program's: give one of them a prefix, or remove the key", doing, driver.Private(key), form, forms[i])
		case form == "hash" && !c.ours(ctx, doing, key):
			return who.Corrupt("%s: the hash %.200q has no _rev, so it is another program's: give one of them a prefix, or remove the key", doing, driver.Private(key))
		}
	}
	return c.failed(ctx, doing, err)
}

// ours reports whether a hash is a record, or does not say that it is none.
func (c *conn) ours(ctx context.Context, doing, key string) bool {
	r, err := c.ask(ctx, doing, "hmget", key, "_rev")
	if err != nil || r.List() != 1 {
		return true
	}
	_, there := r.Text()
	return there
}

// kindOf returns the sentinel for an error of go-redis or the server, and what to
// do about it.
func kindOf(err error) (remedy string, kind error) {
	if text, ok := wire.Answered(err); ok {
		return kindOfAnswer(text)
	}
	switch {
	case errors.Is(err, goredis.ErrClosed):
		return "", driver.ErrClosed
	case errors.Is(err, goredis.ErrPoolTimeout), errors.Is(err, goredis.ErrPoolExhausted):
		return "all connections are in use: raise the pool's size", driver.ErrThrottled
	}
	if remedy, kind = address.Refused(err, "options cert and key", "redis:// is for servers without TLS, and rediss:// for those with it, whose certificate must be trusted"); kind != nil {
		return remedy, kind
	}
	return "", driver.ErrUnavailable
}

// permit is what to do for a user who may not do enough.
const permit = "allow the user the commands and keys that the documentation of the package lists"

// kindOfAnswer returns the sentinel for an error that the server answered. All
// of them say that nothing was done: scripts look at everything before they write.
func kindOfAnswer(text string) (remedy string, kind error) {
	code, rest, _ := strings.Cut(text, " ")
	switch code {
	case "OOM":
		return "the server's maxmemory is used up: raise it or remove data", driver.ErrFull
	case "WRONGTYPE":
		return "another program has keys under these names: give one of them a prefix", driver.ErrCorrupt
	case "NOAUTH", "WRONGPASS":
		return "give the user and password that the server knows", driver.ErrInvalid
	case "NOPERM":
		return permit, driver.ErrInvalid
	case "READONLY":
		return "the server is a replica: connect to the primary", driver.ErrUnavailable
	case "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "MOVED", "ASK":
		return "", driver.ErrUnavailable
	case "NOSCRIPT":
		return "the server forgets scripts as fast as they are sent", driver.ErrUnavailable
	case "CROSSSLOT":
		return "", driver.ErrUnsupported
	case "ERR":
		return kindOfError(rest)
	}
	return "", driver.ErrInternal
}

// kindOfError returns the sentinel for an answer that has no code of its own.
func kindOfError(text string) (remedy string, kind error) {
	for _, known := range []struct {
		part, remedy string
		kind         error
	}{
		{"max number of clients", "raise the server's maxclients or use fewer connections", driver.ErrThrottled},
		{"DB index", "name a database that the server has", driver.ErrInvalid},
		{"without any password configured", "leave the password out, or set one on the server", driver.ErrInvalid},
		{"invalid password", "give the password that the server knows", driver.ErrInvalid},
		{"cluster support disabled", "the server stands alone: leave cluster=true out of the URL, or use a *redis.Client", driver.ErrUnsupported},
		{"The user executing the script", permit, driver.ErrInvalid},
		{"Script killed", "", driver.ErrUnavailable},
		{"unknown command", "the server has a command disabled that this package needs", driver.ErrUnsupported},
	} {
		if strings.Contains(text, known.part) {
			return known.remedy, known.kind
		}
	}
	return "", driver.ErrInternal
}
