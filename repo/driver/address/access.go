package address

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Access is how the servers of a URL are reached: what stores on servers have in common.
type Access struct {
	Dialer Dialer

	env, file     string // where the password is
	ca, cert, key string // files in PEM
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

// Options returns the options of every store on servers.
func (a *Access) Options() Options {
	return Options{
		{Name: "password_env", Does: "the password is in a variable of the environment", To: &a.env,
			Form: "the name of an environment variable, of letters, digits and '_'", Fits: variable.MatchString},
		path("password_file", "the password is in a file; a newline at its end does not count", &a.file),
		{Name: "local", Does: "connects to this machine only, whatever a server tells about others; another address is ErrInvalid",
			Default: "false", To: &a.Dialer.Local},
	}
}

// TLSOptions returns those of stores that leave TLS to this package. How says in words what asks for it.
func (a *Access) TLSOptions(how string) Options {
	return Options{
		path("ca", "of "+how+": the certificates, in PEM, that those of servers must be signed by", &a.ca),
		path("cert", "of "+how+": the certificate of the client, in PEM, for servers that ask for one", &a.cert),
		path("key", "of "+how+": the key of that certificate, in PEM", &a.key),
	}
}

func path(name, does string, to *string) Option {
	return Option{Name: name, Does: does, To: to, Form: "the path of a file", Fits: func(text string) bool { return text != "" }}
}

// mostPassword is how many bytes a file with a password has at most.
const mostPassword = 64 << 10

// Password returns the password of a URL, which is in it, in a variable of the
// environment or in a file, whose last newline does not count. No error has it.
func (a *Access) Password(who frame.Name, inURL string) (string, error) {
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
func (a *Access) TLS(who frame.Name, on bool, how string) (*tls.Config, error) {
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
func (a *Access) identify(who frame.Name, config *tls.Config) error {
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

// Refused returns the sentinel for a connection that was not allowed or was refused for its TLS, and what to do about
// it, nil for any other error. Options name those for the client's certificate, and secure says how a URL asks for TLS.
func Refused(err error, options, secure string) (remedy string, kind error) {
	switch {
	case errors.Is(err, ErrElsewhere):
		return "", driver.ErrInvalid
	case isRefusedClient(err):
		return "the server does not take the client's certificate: give one that it trusts by " + options, driver.ErrInvalid
	case isTLS(err):
		return secure, driver.ErrInvalid
	}
	return "", nil
}

// isRefusedClient reports whether a server ended the making of a TLS connection because
// of the client's certificate, or because there was none.
func isRefusedClient(err error) bool {
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

// isTLS reports whether client and server do not agree on TLS.
func isTLS(err error) bool {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}
