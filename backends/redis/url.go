package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
)

// urlForms is what a URL can be. No error quotes one: it may have a password.
const urlForms = "want redis://[user:password@]host[:port][/database][?option=value], the same with rediss:// for TLS, or unix:///path?db=number"

// readTimeout is how long an answer may take if the URL does not say. A commit whose
// answer takes longer has an unknown outcome.
const readTimeout = 3 * time.Second

// Open opens the store that a URL names:
//
//	redis://[user:password@]host[:port][/database][?option=value&…]
//	rediss://…                         the same with TLS
//	unix://[user:password@]/path[?…]   a socket of this machine
//
// The port is 6379 and the database 0 unless they are given. The options, each at
// most once, are
//
//	prefix=text           begins the names of all keys; see Options.Prefix
//	db=number             the database, where the path does not say it
//	ca=file               of rediss: the certificates, in PEM, that the server's must be
//	                      signed by; without it those of the system
//	client_name=text      how CLIENT LIST calls the connections
//	pool_size=number      connections at most; 10 for each processor
//	pool_timeout=time     how long to wait for one; 4s
//	dial_timeout=time     how long to wait until one is made; 5s
//	read_timeout=time     how long to wait for an answer; 3s
//	write_timeout=time    how long to wait until a request has left; 3s
//
// with times like 500ms or 3s. Anything else is ErrInvalid. What is said at New of
// the server holds here, too.
func Open(ctx context.Context, rawURL string) (*Store, error) {
	opts, own, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	client := goredis.NewClient(own)
	s, err := New(ctx, client, opts)
	if err != nil {
		client.Close()
		return nil, hint(err, own.TLSConfig != nil)
	}
	s.own = true
	return s, nil
}

// hint adds to an error what may be wrong with the scheme of a URL. A server that is
// spoken to in the other way answers nothing, or ends the connection.
func hint(err error, secure bool) error {
	switch {
	case secure && errors.Is(err, driver.ErrUnavailable) && codeOf(err) == "":
		return fmt.Errorf("%w; if the server speaks no TLS, write redis://", err)
	case !secure && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return fmt.Errorf("%w; if the server speaks TLS, write rediss://", err)
	}
	return err
}

func parseURL(rawURL string) (*Options, *goredis.Options, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return nil, nil, invalid("open: a URL that cannot be read; %s", urlForms)
	}
	o := &goredis.Options{
		Protocol:              2, // the newer one brings nothing that is used here
		ContextTimeoutEnabled: true,
		ReadTimeout:           readTimeout,
		WriteTimeout:          readTimeout,
		PoolTimeout:           readTimeout + time.Second,
		Username:              u.User.Username(),
	}
	o.Password, _ = u.User.Password()
	if err := address(o, u); err != nil {
		return nil, nil, err
	}
	opts := &Options{}
	return opts, o, parseOptions(u, opts, o)
}

// address sets where the server is.
func address(o *goredis.Options, u *url.URL) error {
	switch u.Scheme {
	case "unix":
		o.Network, o.Addr = "unix", u.Path
		if u.Host != "" || u.Path == "" {
			return invalid("open: unix wants the path of a socket; %s", urlForms)
		}
		return nil
	case "rediss":
		o.TLSConfig = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
		o.DialerRetries = 1 // a handshake that fails does so again, and takes its time
	case "redis":
	default:
		return invalid("open: the scheme %q; %s", u.Scheme, urlForms)
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	if u.Hostname() == "" {
		return invalid("open: a URL without a host; %s", urlForms)
	}
	o.Network, o.Addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	if db := strings.Trim(u.Path, "/"); db != "" {
		return number("database", db, &o.DB, 0)
	}
	return nil
}

func parseOptions(u *url.URL, opts *Options, o *goredis.Options) error {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return invalid("open: options that cannot be read; %s", urlForms)
	}
	for name, given := range values {
		if len(given) != 1 {
			return invalid("open: option %s is given %d times", name, len(given))
		}
		if err := setOption(name, given[0], opts, o); err != nil {
			return err
		}
	}
	return nil
}

func setOption(name, value string, opts *Options, o *goredis.Options) error {
	switch name {
	case "prefix":
		opts.Prefix = value
	case "client_name":
		o.ClientName = value
	case "ca":
		return authority(value, o.TLSConfig)
	case "db":
		return number("option db", value, &o.DB, 0)
	case "pool_size":
		return number("option pool_size", value, &o.PoolSize, 1)
	case "pool_timeout":
		return duration(name, value, &o.PoolTimeout)
	case "dial_timeout":
		return duration(name, value, &o.DialTimeout)
	case "read_timeout":
		return duration(name, value, &o.ReadTimeout)
	case "write_timeout":
		return duration(name, value, &o.WriteTimeout)
	default:
		return invalid("open: unknown option %q; there are prefix, db, ca, client_name, pool_size, pool_timeout, dial_timeout, read_timeout and write_timeout", name)
	}
	return nil
}

func number(what, value string, to *int, least int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < least {
		return invalid("open: the %s is to be a number from %d on", what, least)
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

// authority makes the certificates in a file those that the server's must be
// signed by.
func authority(file string, config *tls.Config) error {
	if config == nil {
		return invalid("open: option ca is for rediss://")
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return invalid("open: option ca: %v", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return invalid("open: option ca: %s has no certificate in PEM", file)
	}
	return nil
}
