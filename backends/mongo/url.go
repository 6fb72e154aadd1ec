package mongo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
)

// urlForms is what a URL can be. No error quotes one: it may have a password.
const urlForms = "want mongodb://[user:password@]host[:port][,host:port…]/[database][?option=value], or mongodb+srv://"

// Times that hold if the URL does not say others. A commit whose answer takes longer
// than the first has an unknown outcome.
const (
	callTime      = 10 * time.Second // of a call whose context has no deadline
	selectionTime = 5 * time.Second  // until a primary is found
)

// Open opens the store that a URL names:
//
//	mongodb://[user:password@]host[:port][,host:port…]/[database][?option=value&…]
//	mongodb+srv://…                    the hosts are those of a DNS name
//
// The database is "polystore" unless it is named. The options of the store's own are in
// docs/reference/urls.md, each with what it does and what holds without it,
// and all others are those of a connection string of MongoDB: replicaSet, authSource,
// tls, tlsCAFile, tlsCertificateKeyFile, maxPoolSize, appName and so on. Without timeoutMS a call whose context
// has no deadline ends after ten seconds; without serverSelectionTimeoutMS a call waits
// five for a primary. Refused are w, journal, readConcernLevel and readPreference that
// say less than majority, true, majority and primary, which hold whatever is said; and
// directConnection where the server is one of several. What is said at New of the
// server holds here, too. A program that has its own *tls.Config, or asks for passwords
// elsewhere, gives New a client of its own.
func Open(ctx context.Context, rawURL string) (*Store, error) {
	t, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if t.srv && t.access.Dialer.Local {
		return nil, who.Wrap(fmt.Errorf("open: of the servers behind mongodb+srv:// nothing is known; name one by mongodb://: %w", address.ErrElsewhere))
	}
	if err := t.access.Dialer.AllowAll(ctx, who, t.names); err != nil {
		return nil, err
	}
	opts, err := t.clientOptions()
	if err != nil {
		return nil, err
	}
	client, err := mongodriver.Connect(opts)
	if err != nil {
		return nil, errURL
	}
	c := newConn(client)
	c.own, c.dialer, c.addr, c.direct = true, &t.access.Dialer, t.hosts, t.direct
	s, err := open(ctx, c, &t.opts)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), choreTime)
		defer cancel()
		_ = client.Disconnect(ctx)
		return nil, err
	}
	return s, nil
}

// A target is what a URL says.
type target struct {
	opts   Options
	uri    string // for the client: without the store's own options
	srv    bool
	hosts  string
	names  []string // of hosts, without ports and sockets
	direct bool
	timed  map[string]bool // options of time that are given
	access address.Access
}

func (t *target) options() address.Options {
	return append(address.Options{
		{Name: "database", Does: "the database, where the one in the path is that of the user", Default: "polystore", To: &t.opts.Database},
		{Name: "prefix", Does: "begins the names of all collections; see Options.Prefix", To: &t.opts.Prefix},
		{Name: "allow_ferretdb", Does: "see Options.AllowFerretDB", Default: "false", To: &t.opts.AllowFerretDB},
	}, t.access.Options()...)
}

var errURL = who.Invalid("open: a URL or one of its options that cannot be read; %s", urlForms)

func parseURL(rawURL string) (*target, error) {
	scheme, rest, _ := strings.Cut(rawURL, "://")
	if scheme != "mongodb" && scheme != "mongodb+srv" {
		return nil, who.Invalid("open: the scheme is none of mongodb and mongodb+srv; %s", urlForms)
	}
	t := &target{srv: scheme == "mongodb+srv", timed: map[string]bool{}}
	where, query, _ := strings.Cut(rest, "?")
	at := strings.LastIndex(where, "@")
	hosts, database, _ := strings.Cut(where[at+1:], "/")
	if strings.ContainsAny(query, "@#") || strings.ContainsAny(where[:max(at, 0)], "/@[]#\\ ") || !t.setHosts(hosts) {
		return nil, errURL
	}
	var err error
	if t.opts.Database, err = url.PathUnescape(database); err != nil || strings.ContainsAny(t.opts.Database, "/?@#%: ") {
		return nil, errURL
	}
	kept, err := t.parseOptions(query)
	if err != nil {
		return nil, err
	}
	user, err := t.user(where[:at+1])
	if err != nil {
		return nil, err
	}
	t.uri = scheme + "://" + user + where[at+1:]
	if !strings.Contains(where[at+1:], "/") {
		t.uri += "/"
	}
	if kept != "" {
		t.uri += "?" + kept
	}
	return t, nil
}

// setHosts takes the hosts, and reports whether they can be some. A socket has no name.
func (t *target) setHosts(hosts string) bool {
	t.hosts = hosts
	list := strings.Split(hosts, ",")
	list = slices.DeleteFunc(list, func(host string) bool {
		path, err := url.PathUnescape(host)
		return err == nil && strings.HasPrefix(path, "/") && strings.HasSuffix(path, ".sock")
	})
	var ok bool
	t.names, _, ok = address.Hosts(strings.Join(list, ","), "27017")
	return ok || len(list) == 0
}

// user returns what stands before the hosts, an @ at its end, with the password.
func (t *target) user(text string) (string, error) {
	if !t.access.HasPassword() {
		return text, nil
	}
	name, inURL, _ := strings.Cut(strings.TrimSuffix(text, "@"), ":")
	if name == "" {
		return "", who.Invalid("open: a password without its user; want user@ before the host")
	}
	password, err := t.access.Password(who, inURL)
	return name + ":" + strings.ReplaceAll(url.QueryEscape(password), "+", "%20") + "@", err
}

// parseOptions reads the options that concern the store and returns those of the
// client.
func (t *target) parseOptions(query string) (kept string, err error) {
	seen := map[string]bool{}
	var keep []string
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, text, _ := strings.Cut(pair, "=")
		value, err := url.QueryUnescape(text)
		if err != nil {
			return "", errURL
		}
		name = strings.ToLower(name)
		own, err := t.setOption(name, value)
		switch {
		case err != nil:
			return "", err
		case own && seen[name]:
			return "", who.Invalid("open: option %s is given twice", name)
		case !own:
			keep = append(keep, pair)
		}
		seen[name] = true
	}
	return strings.Join(keep, "&"), nil
}

// setOption reads an option, and reports whether it is one of the store's own.
func (t *target) setOption(name, value string) (own bool, err error) {
	if own, err := t.options().Take(who, name, value); own {
		return true, err
	}
	switch name {
	case "timeoutms", "serverselectiontimeoutms":
		t.timed[name] = true
	case "directconnection":
		t.direct = value == "true"
	case "loadbalanced":
		if value == "true" {
			return false, who.Unsupported("open: option loadBalanced: behind a balancer is a sharded cluster: connect to a replica set")
		}
	}
	return false, weaker(name, value)
}

// weaker refuses concerns that say less than what every command says.
func weaker(name, value string) error {
	for _, o := range []struct{ name, shown, want string }{
		{"w", "w", "majority"},
		{"journal", "journal", "true"},
		{"readconcernlevel", "readConcernLevel", "majority"},
		{"readpreference", "readPreference", "primary"},
	} {
		if name == o.name && value != o.want {
			return who.Invalid("open: option %s, as it is given, does not keep what is acknowledged: leave it out, or say %s", o.shown, o.want)
		}
	}
	return nil
}

// clientOptions returns those of the client of a target, for which it may ask DNS.
func (t *target) clientOptions() (*options.ClientOptions, error) {
	opts := options.Client().ApplyURI(t.uri)
	if err := opts.Validate(); err != nil {
		if _, ok := errors.AsType[*net.DNSError](err); t.srv && (ok || strings.Contains(err.Error(), "lookup")) {
			return nil, fmt.Errorf("mongo: open: %s: DNS does not tell the servers of this name: %w", t.hosts, driver.ErrUnavailable)
		}
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, who.Invalid("open: a file that the options of the URL name: %v", e)
		}
		return nil, errURL
	}
	opts.SetDialer(&t.access.Dialer)
	if !t.timed["timeoutms"] {
		opts.SetTimeout(callTime)
	}
	if !t.timed["serverselectiontimeoutms"] {
		opts.SetServerSelectionTimeout(selectionTime)
	}
	return opts, nil
}
