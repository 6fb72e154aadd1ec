package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
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
// The port is 6379 and the database 0 unless they are given. The options, each at
// most once, are
//
//	prefix=text           begins the names of all keys; see Options.Prefix
//	min_replicas=number   how many replicas a commit waits for; see Options.MinReplicas
//	cluster=true          the server is one of a Redis Cluster; it has no databases
//	addr=host:port        of cluster: another server of it, as often as wanted; any of
//	                      them tells about all others
//	db=number             the database, where the path does not say it
//	ca=file               of rediss: the certificates, in PEM, that the server's must be
//	                      signed by; without it those of the system
//	cert=file, key=file   of rediss: the certificate of the client and its key, in PEM,
//	                      for a server that asks for one
//	password_env=name     the password is in a variable of the environment
//	password_file=path    the password is in a file; a newline at its end does not count
//	local=true            connect to this machine only, whatever a cluster tells about
//	                      its servers; another address is ErrInvalid
//	client_name=text      how CLIENT LIST calls the connections
//	pool_size=number      connections at most, to each server, up to 65536; 10 for each
//	                      processor
//	pool_timeout=time     how long to wait for one; 4s
//	dial_timeout=time     how long to wait until one is made, by all attempts; 5s
//	read_timeout=time     how long to wait for an answer; 3s
//	write_timeout=time    how long to wait until a request has left; 3s
//
// with times like 500ms or 3s. Anything else is ErrInvalid. A user has a password; the
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
	if err := ended(ctx); err != nil {
		return nil, err
	}
	if err := target.allowed(ctx); err != nil {
		return nil, err
	}
	client := target.client()
	s, err := newStore(ctx, client, &target.opts, &target.dialer)
	if err != nil {
		client.Close()
		return nil, hint(err, target.own.TLSConfig != nil)
	}
	s.own = true
	return s, nil
}

// allowed says whether the servers of the URL may be connected to.
func (t *target) allowed(ctx context.Context) error {
	if t.own.Network == "unix" {
		return nil
	}
	for _, addr := range append([]string{t.own.Addr}, t.addrs...) {
		host, _, _ := net.SplitHostPort(addr)
		if err := t.dialer.Allows(ctx, host); err != nil {
			return who.Wrap(fmt.Errorf("open: %w", err))
		}
	}
	return nil
}

// hint adds to an error what may be wrong with the scheme of a URL. A server that is
// spoken to in the other way answers nothing, or ends the connection.
func hint(err error, secure bool) error {
	switch {
	case secure && errors.Is(err, driver.ErrUnavailable) && codeOf(err) == "":
		return fmt.Errorf("%w; if the server speaks no TLS, write redis://; if it asks for a client's certificate, give one that it trusts by options cert and key", err)
	case !secure && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)):
		return fmt.Errorf("%w; the server ended the connection: if it speaks TLS, write rediss://; else it may have all the clients that it takes (maxclients), or be in protected mode", err)
	}
	return err
}

// A target is what a URL says.
type target struct {
	opts    Options
	own     *goredis.Options // of the client, of one server or of each
	cluster bool
	addrs   []string // of a cluster, beside the first
	access  backend.Access
	dialer  backend.Dialer
	tries   int // at a connection
}

// client makes the client of a target.
func (t *target) client() goredis.UniversalClient {
	o := t.own
	if !t.cluster {
		return goredis.NewClient(o)
	}
	size := o.PoolSize
	if size == 0 {
		size = 10 * runtime.GOMAXPROCS(0)
	}
	cluster := goredis.NewClusterClient(&goredis.ClusterOptions{
		Addrs:                 append([]string{o.Addr}, t.addrs...),
		ClientName:            o.ClientName,
		Protocol:              o.Protocol,
		Username:              o.Username,
		Password:              o.Password,
		ContextTimeoutEnabled: true,
		Dialer:                o.Dialer,
		DialTimeout:           o.DialTimeout,
		ReadTimeout:           o.ReadTimeout,
		WriteTimeout:          o.WriteTimeout,
		PoolTimeout:           o.PoolTimeout,
		PoolSize:              size,
		TLSConfig:             o.TLSConfig,

		DisableRoutingPolicies: true, // they ask for COMMAND, and write to standard error if a user may not
	})
	cluster.SetCommandInfoResolver(nil) // likewise, for pipelines
	return cluster
}

func parseURL(rawURL string) (*target, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return nil, invalid("open: a URL that cannot be read; %s", urlForms)
	}
	o := &goredis.Options{
		Protocol:              2, // the newer one brings nothing that is used here
		ContextTimeoutEnabled: true,
		ReadTimeout:           readTimeout,
		WriteTimeout:          readTimeout,
		PoolTimeout:           readTimeout + time.Second,
		Username:              u.User.Username(),
	}
	if err := address(o, u); err != nil {
		return nil, err
	}
	t := &target{own: o, tries: dialTries}
	t.access.Dialer, o.Dialer = &t.dialer, t.dial
	if err := t.parseOptions(u); err != nil {
		return nil, err
	}
	if err := t.secure(u); err != nil {
		return nil, err
	}
	if t.cluster {
		t.tries = 1 // others know who has the slots of a server that is gone
	}
	return t, t.fits()
}

// secure sets the password and TLS.
func (t *target) secure(u *url.URL) (err error) {
	password, _ := u.User.Password()
	if t.own.Password, err = t.access.Password(who, password); err != nil {
		return err
	}
	if t.own.Username != "" && t.own.Password == "" { // go-redis would be the default user
		return invalid("open: a user without a password; want user:password@, where a user who needs none takes any, and :password@ for the default user; or say by option password_env or password_file where it is")
	}
	t.own.TLSConfig, err = t.access.TLS(who, u.Scheme == "rediss", "rediss://")
	if t.own.TLSConfig != nil {
		t.own.TLSConfig.ServerName = u.Hostname()
		t.tries = 1 // a handshake that fails does so again, and takes its time
	}
	return err
}

// fits says which options do not go together.
func (t *target) fits() error {
	switch {
	case !t.cluster && len(t.addrs) > 0:
		return invalid("open: option addr is for cluster=true")
	case t.cluster && t.own.Network == "unix":
		return invalid("open: cluster=true with a socket: a cluster is reached by host and port")
	case t.cluster && t.own.DB != 0:
		return invalid("open: database %d of a cluster: it has none but 0; keep programs apart by prefix", t.own.DB)
	}
	return nil
}

// address sets where the server is.
func address(o *goredis.Options, u *url.URL) error {
	switch u.Scheme {
	case "unix":
		o.Network, o.Addr = "unix", u.Path
		if u.Host != "" || u.Path == "" || strings.Contains(u.EscapedPath(), "@") {
			return invalid("open: unix wants the path of a socket; %s", urlForms)
		}
		return nil
	case "redis", "rediss":
	default:
		return invalid("open: the scheme is none of redis, rediss and unix; %s", urlForms)
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return invalid("open: the port is to be a number up to 65535; %s", urlForms)
	}
	if u.Hostname() == "" {
		return invalid("open: a URL without a host; %s", urlForms)
	}
	if !backend.IsHost(u.Hostname()) {
		return invalid("open: what stands where the host should is none; %s", urlForms)
	}
	o.Network, o.Addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	if db := strings.Trim(u.Path, "/"); db != "" {
		return number("database", db, &o.DB, 0, math.MaxInt32)
	}
	return nil
}

func (t *target) parseOptions(u *url.URL) error {
	options, err := who.Options(u.RawQuery, "addr")
	if err != nil {
		return err
	}
	for _, o := range options {
		if o.Name == "db" && u.Scheme != "unix" && strings.Trim(u.Path, "/") != "" {
			return invalid("open: the database is given twice, in the path and as option db")
		}
		if known, err := t.access.Set(who, o); known || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := t.setOption(o); err != nil {
			return err
		}
	}
	return nil
}

func (t *target) addAddr(addr string) error {
	if host, port, err := net.SplitHostPort(addr); err != nil || !backend.IsHost(host) || port == "" {
		return invalid("open: option addr is to be host:port")
	}
	t.addrs = append(t.addrs, addr)
	return nil
}

func (t *target) setOption(option backend.Option) error {
	name, value := option.Name, option.Value
	o := t.own
	switch name {
	case "prefix":
		t.opts.Prefix = value
	case "min_replicas":
		return number("option min_replicas", value, &t.opts.MinReplicas, 0, math.MaxInt32)
	case "cluster":
		if t.cluster = value == "true"; !t.cluster && value != "false" {
			return invalid("open: option cluster is to be true or false")
		}
	case "client_name":
		if strings.ContainsFunc(value, func(r rune) bool { return r < '!' || r > '~' }) {
			return invalid("open: option client_name is to be visible ASCII characters without a space")
		}
		o.ClientName = value
	case "addr":
		return t.addAddr(value)
	case "db":
		return number("option db", value, &o.DB, 0, math.MaxInt32)
	case "pool_size":
		return number("option pool_size", value, &o.PoolSize, 1, mostConnections)
	case "pool_timeout":
		return duration(name, value, &o.PoolTimeout)
	case "dial_timeout":
		return duration(name, value, &o.DialTimeout)
	case "read_timeout":
		return duration(name, value, &o.ReadTimeout)
	case "write_timeout":
		return duration(name, value, &o.WriteTimeout)
	default:
		return invalid("open: option %d of the URL is none of prefix, min_replicas, cluster, addr, db, client_name, pool_size, pool_timeout, dial_timeout, read_timeout, write_timeout, %s, %s",
			option.At, backend.TLSNames, backend.AccessNames)
	}
	return nil
}

func number(what, value string, to *int, least, most int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return invalid("open: the %s is to be a number from %d to %d", what, least, most)
	}
	*to = n
	return nil
}

func duration(name, value string, to *time.Duration) error {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return invalid("open: option %s is to be a time like 500ms or 3s", name)
	}
	*to = d
	return nil
}
