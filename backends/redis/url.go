package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
)

// urlForms is what a URL can be. No error quotes one: it may have a password.
const urlForms = "want redis://[user:password@]host[:port][/database][?option=value], cluster=true among the options for a cluster, the same with rediss:// for TLS, or unix:///path?db=number; in a password write %2F for /, %3F for ?, %23 for # and %40 for @"

// readTimeout is how long an answer may take if the URL does not say. A commit whose
// answer takes longer has an unknown outcome.
const readTimeout = 3 * time.Second

// mostConnections is how many a pool may have: go-redis makes room for all at once.
const mostConnections = 1 << 16

// Open opens the store that a URL names:
//
//	redis://[user:password@]host[:port][/database][?option=value&…]
//	redis://host:port?cluster=true&addr=host:port&…
//	                                   a cluster, some of whose servers are named
//	rediss://…                         the same with TLS
//	unix://[user:password@]/path[?…]   a socket of this machine
//
// The port is 6379 and the database 0 unless they are given. The options are in
// docs/reference/urls.md, each with what it does and what holds without it; addr can be given
// several times, each other once.
//
// Anything else is ErrInvalid. A user has a password; the
// default user is the one of :password@, or of no user where an option says where the
// password is. What is said at New of the server holds here, too. A program that has its
// own *tls.Config, or asks for passwords elsewhere, gives New a client of its own.
//
// Nothing is written to standard error. A client of the caller's own may do so: go-redis
// logs failed connections unless redis.SetLogger is called, which holds for all clients
// of the program.
func Open(ctx context.Context, rawURL string) (*Store, error) {
	target, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if err := target.access.Dialer.AllowAll(ctx, who, target.hosts); err != nil {
		return nil, err
	}
	client := target.client()
	s, err := newStore(ctx, client, &target.opts, &target.access.Dialer)
	if err != nil {
		client.Close()
		return nil, hint(err, target.own.TLSConfig != nil)
	}
	s.in.conn.own = true
	return s, nil
}

// hint adds to an error what may be wrong with the scheme of a URL. A server that is
// spoken to in the other way answers nothing, or ends the connection.
func hint(err error, secure bool) error {
	switch {
	case secure && errors.Is(err, driver.ErrUnavailable) && wire.CodeOf(err) == "":
		return fmt.Errorf("%w; if the server speaks no TLS, write redis://; if it asks for a client's certificate, give one that it trusts by options cert and key", err)
	case !secure && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)):
		return fmt.Errorf("%w; the server ended the connection: if it speaks TLS, write rediss://; else it may have all the clients that it takes (maxclients), or be in protected mode", err)
	}
	return err
}

// A target is what a URL says.
type target struct {
	opts   Options
	own    goredis.UniversalOptions // of the client, of one server or of each
	hosts  []string                 // of all addresses
	access address.Access
}

func (t *target) options() address.Options {
	o := &t.own
	return slices.Concat(address.Options{
		{Name: "prefix", Does: "begins the names of all keys; see Options.Prefix", To: &t.opts.Prefix},
		{Name: "min_replicas", Does: "how many replicas a commit waits for; see Options.MinReplicas", Default: "0",
			To: &t.opts.MinReplicas, Most: math.MaxInt32},
		{Name: "cluster", Does: "the server is one of a Redis Cluster; it has no databases", Default: "false", To: &o.IsClusterMode},
		{Name: "addr", Does: "of cluster: another server of it; any of them tells about all others", To: &o.Addrs,
			Form: "host:port", Fits: isAddr},
		{Name: "db", Does: "the database, where the path does not say it", Default: "0", To: &o.DB, Most: math.MaxInt32},
		{Name: "client_name", Does: "how CLIENT LIST calls the connections", To: &o.ClientName,
			Form: "visible ASCII characters without a space", Fits: isVisible},
		{Name: "pool_size", Does: "connections at most, to each server", Default: "10 for each processor",
			To: &o.PoolSize, Least: 1, Most: mostConnections},
		{Name: "pool_timeout", Does: "how long to wait for one", Default: "4s", To: &o.PoolTimeout},
		{Name: "dial_timeout", Does: "how long to wait until one is made, by all attempts", Default: "5s", To: &o.DialTimeout},
		{Name: "read_timeout", Does: "how long to wait for an answer", Default: "3s", To: &o.ReadTimeout},
		{Name: "write_timeout", Does: "how long to wait until a request has left", Default: "3s", To: &o.WriteTimeout},
	}, t.access.TLSOptions("rediss://"), t.access.Options())
}

func isAddr(text string) bool {
	host, port, err := net.SplitHostPort(text)
	return err == nil && address.IsHost(host) && port != ""
}

func isVisible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < '!' || r > '~' })
}

// client makes the client of a target.
func (t *target) client() goredis.UniversalClient {
	t.own.Dialer = t.dial
	if !t.own.IsClusterMode {
		return goredis.NewClient(t.own.Simple())
	}
	o := t.own.Cluster()
	o.DisableRoutingPolicies = true // they ask for COMMAND, and write to standard error if a user may not
	cluster := goredis.NewClusterClient(o)
	cluster.SetCommandInfoResolver(nil) // likewise, for pipelines
	return cluster
}

func parseURL(rawURL string) (*target, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return nil, who.Invalid("open: a URL that cannot be read; %s", urlForms)
	}
	t := &target{own: goredis.UniversalOptions{
		Protocol:              2, // the newer one brings nothing that is used here
		ContextTimeoutEnabled: true,
		ReadTimeout:           readTimeout,
		WriteTimeout:          readTimeout,
		PoolTimeout:           readTimeout + time.Second,
		PoolSize:              10 * runtime.GOMAXPROCS(0),
		Username:              u.User.Username(),
	}}
	if err := t.where(u); err != nil {
		return nil, err
	}
	if err := t.options().Parse(who, u.RawQuery); err != nil {
		return nil, err
	}
	o, socket := &t.own, u.Scheme == "unix"
	if !socket && strings.Trim(u.Path, "/") != "" && u.Query().Has("db") {
		return nil, who.Invalid("open: the database is given twice, in the path and as option db")
	}
	for _, addr := range o.Addrs {
		if host, _, err := net.SplitHostPort(addr); err == nil && !socket {
			t.hosts = append(t.hosts, host)
		}
	}
	if err := t.secure(u); err != nil {
		return nil, err
	}
	switch {
	case !o.IsClusterMode && len(o.Addrs) > 1:
		return nil, who.Invalid("open: option addr is for cluster=true")
	case o.IsClusterMode && socket:
		return nil, who.Invalid("open: cluster=true with a socket: a cluster is reached by host and port")
	case o.IsClusterMode && o.DB != 0:
		return nil, who.Invalid("open: database %d of a cluster: it has none but 0; keep programs apart by prefix", o.DB)
	}
	return t, nil
}

// secure sets the password and TLS.
func (t *target) secure(u *url.URL) (err error) {
	password, _ := u.User.Password()
	if t.own.Password, err = t.access.Password(who, password); err != nil {
		return err
	}
	if t.own.Username != "" && t.own.Password == "" { // go-redis would be the default user
		return who.Invalid("open: a user without a password; want user:password@, where a user who needs none takes any, and :password@ for the default user; or say by option password_env or password_file where it is")
	}
	t.own.TLSConfig, err = t.access.TLS(who, u.Scheme == "rediss", "rediss://")
	if t.own.TLSConfig != nil {
		t.own.TLSConfig.ServerName = u.Hostname()
	}
	return err
}

// where sets where the server is.
func (t *target) where(u *url.URL) error {
	if u.Scheme == "unix" {
		if u.Host != "" || u.Path == "" || strings.Contains(u.EscapedPath(), "@") {
			return who.Invalid("open: unix wants the path of a socket; %s", urlForms)
		}
		t.own.Addrs = []string{u.Path}
		return nil
	}
	port := cmp.Or(u.Port(), "6379")
	_, err := strconv.ParseUint(port, 10, 16)
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return who.Invalid("open: the scheme is none of redis, rediss and unix; %s", urlForms)
	case err != nil:
		return who.Invalid("open: the port is to be a number up to 65535; %s", urlForms)
	case u.Hostname() == "":
		return who.Invalid("open: a URL without a host; %s", urlForms)
	case !address.IsHost(u.Hostname()):
		return who.Invalid("open: what stands where the host should is none; %s", urlForms)
	}
	t.own.Addrs = []string{net.JoinHostPort(u.Hostname(), port)}
	if db := strings.Trim(u.Path, "/"); db != "" {
		t.own.DB, err = strconv.Atoi(db)
		if err != nil || t.own.DB < 0 || t.own.DB > math.MaxInt32 {
			return who.Invalid("open: the database is to be a number from 0 to %d", math.MaxInt32)
		}
	}
	return nil
}
