package backend

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An Option is one of a URL.
type Option struct {
	Name, Value string
	At          int // its place among the options, from 1
}

// Options returns the options that the query of a URL has, in their order. One that is
// given twice is ErrInvalid unless many names it. No error quotes anything: with a '?'
// or '@' in a password that is not escaped, the query is a part of the password.
func (n Name) Options(query string, many ...string) ([]Option, error) {
	if strings.ContainsAny(query, "@#;") {
		return nil, n.Invalid("open: options that cannot be read: in a password write %%3F for ?, %%40 for @ and %%23 for #, and likewise in the values of options")
	}
	var list []Option
	seen := map[string]bool{}
	at := 0
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		at++
		name, value, _ := strings.Cut(pair, "=")
		name, err1 := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		if err1 != nil || err2 != nil {
			return nil, n.Invalid("open: option %d of the URL cannot be read: write %%25 for %%", at)
		}
		if seen[name] && !slices.Contains(many, name) {
			return nil, n.Invalid("open: option %d of the URL is given twice", at)
		}
		seen[name] = true
		list = append(list, Option{name, value, at})
	}
	return list, nil
}

// Access is how the servers of a URL are reached: the options that stores on servers
// have in common. Set takes them one by one.
type Access struct {
	Dialer *Dialer

	env, file     string // where the password is
	ca, cert, key string // files in PEM
}

// The names of options that Set knows: of every store on servers, and of those that
// leave TLS to this package.
const (
	AccessNames = "password_env, password_file, local"
	TLSNames    = "ca, cert, key"
)

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

// Set takes an option, and reports whether it is one of AccessNames or TLSNames.
func (a *Access) Set(who Name, o Option) (known bool, err error) {
	switch o.Name {
	case "password_env":
		if a.env = o.Value; !variable.MatchString(o.Value) {
			err = who.Invalid("open: option password_env is to be the name of an environment variable, of letters, digits and '_'")
		}
	case "password_file":
		a.file, err = path(who, o)
	case "local":
		if a.Dialer.Local = o.Value == "true"; o.Value != "true" && o.Value != "false" {
			err = who.Invalid("open: option local is to be true or false")
		}
	case "ca":
		a.ca, err = path(who, o)
	case "cert":
		a.cert, err = path(who, o)
	case "key":
		a.key, err = path(who, o)
	default:
		return false, nil
	}
	return true, err
}

func path(who Name, o Option) (string, error) {
	if o.Value == "" {
		return "", who.Invalid("open: option %s is to be the path of a file", o.Name)
	}
	return o.Value, nil
}

// mostPassword is how many bytes a file with a password has at most.
const mostPassword = 64 << 10

// Password returns the password of a URL, which is in it, in a variable of the
// environment or in a file, whose last newline does not count. No error has it.
func (a *Access) Password(who Name, inURL string) (string, error) {
	switch {
	case a.env == "" && a.file == "":
		return inURL, nil
	case inURL != "" || a.env != "" && a.file != "":
		return "", who.Invalid("open: the password is given twice; give it in the URL, by option password_env or by option password_file")
	case a.env != "":
		password, ok := os.LookupEnv(a.env)
		if !ok || password == "" {
			return "", who.Invalid("open: option password_env: the environment variable %s is not set, or empty", a.env)
		}
		return password, nil
	}
	f, err := os.Open(a.file)
	if err != nil {
		return "", who.Invalid("open: option password_file: %v", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostPassword+1))
	if err != nil {
		return "", who.Invalid("open: option password_file: %v", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if password == "" || len(text) > mostPassword || strings.ContainsAny(password, "\n\x00") {
		return "", who.Invalid("open: option password_file: %s is to hold the password in one line, and nothing else", a.file)
	}
	return password, nil
}

// HasPassword reports whether the password is somewhere else than in the URL.
func (a *Access) HasPassword() bool { return a.env != "" || a.file != "" }

// TLS returns the configuration that the options ask for; on says whether the URL asks
// for TLS, as how says in words. Without it there is none.
func (a *Access) TLS(who Name, on bool, how string) (*tls.Config, error) {
	if !on {
		if a.ca+a.cert+a.key != "" {
			return nil, who.Invalid("open: options ca, cert and key are for %s", how)
		}
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.ca != "" {
		pem, err := os.ReadFile(a.ca)
		if err != nil {
			return nil, who.Invalid("open: option ca: %v", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, who.Invalid("open: option ca: %s has no certificate in PEM", a.ca)
		}
	}
	return config, a.identify(who, config)
}

// identify gives a configuration the certificate of the client.
func (a *Access) identify(who Name, config *tls.Config) error {
	switch {
	case a.cert == "" && a.key == "":
		return nil
	case a.cert == "" || a.key == "":
		return who.Invalid("open: options cert and key belong together: the client's certificate and its key, each a file in PEM")
	}
	pair, err := tls.LoadX509KeyPair(a.cert, a.key)
	if err != nil {
		return who.Invalid("open: options cert and key: %v", err)
	}
	now := time.Now()
	if now.After(pair.Leaf.NotAfter) || now.Before(pair.Leaf.NotBefore) {
		return who.Invalid("open: option cert: the certificate in %s holds from %s to %s only: get a new one", a.cert,
			pair.Leaf.NotBefore.UTC().Format(time.DateTime), pair.Leaf.NotAfter.UTC().Format(time.DateTime))
	}
	config.Certificates = []tls.Certificate{pair}
	return nil
}

// RefusedClient is the remedy where IsRefusedClient.
const RefusedClient = "the server does not take the client's certificate: give one that it trusts by options cert and key"

// IsRefusedClient reports whether a server ended the making of a TLS connection because
// of the client's certificate, or because there was none.
func IsRefusedClient(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	if !ok || e.Op != "remote error" {
		return false
	}
	for _, text := range []string{"certificate", "handshake failure", "unknown ca"} {
		if strings.Contains(e.Err.Error(), text) {
			return true
		}
	}
	return false
}

var hostname = regexp.MustCompile(`^([A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?)$`)

// IsHost reports whether a text is a name or an address without its port. What is none
// may be a part of a password, and is not to be printed.
func IsHost(text string) bool { return hostname.MatchString(text) }
