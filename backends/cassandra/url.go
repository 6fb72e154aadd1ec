package cassandra

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
	"github.com/polystore/polystore/repo/driver/frame"
)

// urlForms is what a URL can be. No error quotes one: it may have a password.
const urlForms = "want cassandra://[user:password@]host[:port][,host:port…]/keyspace[?option=value]; in a password write %2F for /, %3F for ?, %23 for # and %40 for @"

// Times that hold if the URL does not say others. A commit whose answer takes longer
// than the first has an unknown outcome.
const (
	callTime    = 12 * time.Second // more than the server takes for what it refuses
	connectTime = 5 * time.Second
)

// Open opens the store that a URL names:
//
//	cassandra://[user:password@]host[:port][,host:port…]/keyspace[?option=value&…]
//
// Any of the servers tells about all others. The port is 9042 unless it is given. The
// options, each at most once, are in docs/reference/urls.md, with what each does and what holds
// without it.
//
// Anything else is ErrInvalid. What is said at New of the
// server holds here, too. A program that has its own *tls.Config, or asks for passwords
// elsewhere, gives New a session of its own.
func Open(ctx context.Context, rawURL string) (*Store, error) {
	t, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if err := t.access.Dialer.AllowAll(ctx, who, t.names); err != nil {
		return nil, err
	}
	session, err := t.connect(ctx)
	if err != nil {
		return nil, err
	}
	var told []string
	for _, host := range session.GetHosts() {
		told = append(told, host.ConnectAddress().String())
	}
	c := &conn{session: session, own: true, addr: t.hosts, dialer: &t.access.Dialer}
	var s *Store
	if err = t.access.Dialer.AllowAll(ctx, who, told); err == nil {
		s, err = open(ctx, c, &t.opts)
	}
	if err != nil {
		_ = c.close() // which waits for the client for a while only
		return nil, err
	}
	return s, nil
}

// A target is what a URL says.
type target struct {
	opts    Options
	hosts   string
	names   []string // of hosts, without ports
	cluster *gocql.ClusterConfig
	tls     bool
	access  address.Access
}

func (t *target) options() address.Options {
	isGiven := func(text string) bool { return text != "" }
	return slices.Concat(address.Options{
		{Name: "dc", Does: "the datacenter of reads and commits; see Options.Datacenter", To: &t.opts.Datacenter,
			Form: "the name of a datacenter", Fits: isGiven},
		{Name: "replication", Does: "makes the keyspace if it is not there; see Options.Replication", To: &t.opts.Replication,
			Form: "a number of copies, or datacenters with theirs, as in dc1:3,dc2:3", Fits: isGiven},
		{Name: "tls", Does: "speaks TLS", Default: "false", To: &t.tls},
		{Name: "connections", Does: "connections to each server", Default: "2", To: &t.cluster.NumConns, Least: 1, Most: 1000},
		{Name: "timeout", Does: "how long to wait for an answer", Default: "12s", To: &t.cluster.Timeout},
		{Name: "connect_timeout", Does: "how long to wait until a connection is made", Default: "5s", To: &t.cluster.ConnectTimeout},
	}, t.access.TLSOptions("tls=true"), t.access.Options())
}

var errURL = who.Invalid("open: a URL that cannot be read; %s", urlForms)

func parseURL(rawURL string) (*target, error) {
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if !ok || scheme != "cassandra" {
		return nil, who.Invalid("open: the scheme is not cassandra; %s", urlForms)
	}
	where, query, _ := strings.Cut(rest, "?")
	user, hosts := "", where
	if at := strings.LastIndex(where, "@"); at >= 0 {
		user, hosts = where[:at], where[at+1:]
	}
	hosts, keyspace, _ := strings.Cut(hosts, "/")
	keyspace, err := url.PathUnescape(keyspace)
	if err != nil || hosts == "" || strings.ContainsAny(rest, "# ") {
		return nil, errURL
	}
	t := &target{hosts: hosts, opts: Options{Keyspace: keyspace}}
	if err := t.setHosts(); err != nil {
		return nil, err
	}
	if err := t.options().Parse(who, query); err != nil {
		return nil, err
	}
	if err := t.setUser(user, strings.Contains(where, "@")); err != nil {
		return nil, err
	}
	if err := t.secure(); err != nil {
		return nil, err
	}
	if !isName(keyspace) || len(keyspace) > 48 {
		return nil, who.Invalid("open: the keyspace of the URL is to be a name of at most 48 letters, digits and '_'; %s", urlForms)
	}
	return t, new(conn).use(&t.opts)
}

// setHosts makes the configuration of the client for the hosts.
func (t *target) setHosts() error {
	names, list, ok := address.Hosts(t.hosts, "9042")
	if !ok {
		return errURL
	}
	t.names = names
	c := gocql.NewCluster(list...)
	_, port, _ := net.SplitHostPort(list[0])
	c.Port, _ = strconv.Atoi(port) // of servers that the others tell about
	c.Dialer = &t.access.Dialer
	tune(c)
	t.cluster = c
	return nil
}

// tune says how the client is to speak to servers, and how soon it is to try again.
func tune(c *gocql.ClusterConfig) {
	c.ProtoVersion = 5
	c.Timeout, c.ConnectTimeout = callTime, connectTime
	c.ReconnectInterval = time.Second
	c.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1, Interval: 10 * time.Millisecond}
	c.ConvictionPolicy = lenient{}
	c.Metadata.CacheMode = gocql.KeyspaceOnly
	c.MaxWaitSchemaAgreement = 0 // after a change of the schema it waits for servers that are down, and agreed does not
}

// A lenient client takes no server for down because it could not connect to it. Each
// statement makes it try again, some ten times a second, and goes to another server
// meanwhile; with gocql's own policies none is tried for a second or more. What the other
// servers say of one that is down it heeds.
type lenient struct{}

func (lenient) AddFailure(error, *gocql.HostInfo) bool { return false }
func (lenient) Reset(*gocql.HostInfo)                  {}

func (t *target) setUser(text string, given bool) error {
	if !given {
		if t.access.HasPassword() {
			return who.Invalid("open: a password without its user; want user@ before the host")
		}
		return nil
	}
	name, password, ok := strings.Cut(text, ":")
	name, err1 := url.PathUnescape(name)
	password, err2 := url.PathUnescape(password)
	if err1 != nil || err2 != nil || ok == t.access.HasPassword() || name == "" {
		return errUser
	}
	password, err := t.access.Password(who, password)
	if err != nil {
		return err
	}
	t.cluster.Authenticator = gocql.PasswordAuthenticator{Username: name, Password: password}
	return nil
}

var errUser = who.Invalid("open: what stands before the @ cannot be read; want user:password@, or user@ with option password_env or password_file; %s", urlForms)

// secure sets up TLS.
func (t *target) secure() error {
	config, err := t.access.TLS(who, t.tls, "tls=true")
	if config != nil {
		t.cluster.SslOpts = &gocql.SslOptions{Config: config, EnableHostVerification: true}
	}
	return err
}

// attempts keep why connections could not be made: the client tells it in words only.
type attempts struct{ last atomic.Pointer[error] }

// ObserveConnect keeps the error of a connection.
func (a *attempts) ObserveConnect(o gocql.ObservedConnect) {
	if o.Err != nil {
		a.last.Store(&o.Err)
	}
}

func (a *attempts) why() error {
	if err := a.last.Load(); err != nil {
		return *err
	}
	return nil
}

// connect makes a session, which the client does without a context.
func (t *target) connect(ctx context.Context) (*gocql.Session, error) {
	why := &attempts{}
	t.cluster.ConnectObserver = why
	t.cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(t.fallback(), gocql.DoNotShuffleReplicas())
	type made struct {
		session *gocql.Session
		err     error
	}
	done := make(chan made, 1)
	go func() {
		session, err := t.cluster.CreateSession()
		done <- made{session, err}
	}()
	select {
	case m := <-done:
		if m.err == nil {
			return m.session, nil
		}
		return nil, t.failed(m.err, why.why())
	case <-ctx.Done():
		go func() {
			if m := <-done; m.err == nil {
				m.session.Close()
			}
		}()
		return nil, who.Unreached("open", t.hosts, ctx.Err(), why.why())
	}
}

func (t *target) fallback() gocql.HostSelectionPolicy {
	if t.opts.Datacenter != "" {
		return gocql.DCAwareRoundRobinPolicy(t.opts.Datacenter)
	}
	return gocql.RoundRobinHostPolicy()
}

// failed says why there is no session.
func (t *target) failed(err, cause error) error {
	if cause == nil {
		return who.Failed(frame.Failure{Doing: "open", Addr: t.hosts, Kind: driver.ErrUnavailable}, err)
	}
	remedy, kind := kindOf(cause)
	switch {
	case t.cluster.Authenticator == nil && strings.Contains(cause.Error(), "authentication required"): // the client has no more than words for it
		remedy, kind = kindOfCode(gocql.ErrCodeCredentials)
	case codeOf(cause) == gocql.ErrCodeProtocol:
		remedy, kind = "the server does not speak protocol version 5: upgrade it to Cassandra 4.1 or later", driver.ErrUnsupported
	case codeOf(cause) < 0 && !t.tls && remedy == "" && !errors.Is(kind, driver.ErrInvalid):
		remedy = "if the server speaks TLS only, say tls=true"
	case codeOf(cause) < 0 && t.tls && errors.Is(kind, driver.ErrUnavailable) && remedy == "":
		remedy = "if the server asks for a client's certificate, give one that it trusts by options cert and key"
	}
	return who.Failed(frame.Failure{Doing: "open", Addr: t.hosts, Kind: kind, Remedy: remedy}, cause)
}
