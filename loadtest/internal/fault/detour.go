package fault

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/polystore/polystore/internal/toxic"
)

// ports are those of servers whose URLs name none, by the scheme.
var ports = map[string]string{"redis": "6379", "rediss": "6379", "mongodb": "27017", "cassandra": "9042"}

var errNone = errors.New("no network, so no such fault")

// Possible says why no proxy can stand before the server of a URL, nil if one can.
func Possible(rawURL string) error {
	_, _, err := server(rawURL)
	return err
}

// server returns the parts of a URL, and the address in it.
func server(rawURL string) (u *url.URL, addr string, err error) {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	port, known := ports[scheme]
	switch {
	case scheme == "unix":
		return nil, "", errors.New("the server is reached by a socket of this machine; name it by host and port")
	case scheme == "mongodb+srv":
		return nil, "", errors.New("the URL names no server but a name of DNS; name one server by mongodb://")
	case !known:
		return nil, "", errNone
	case strings.Contains(hosts(rest), ","):
		return nil, "", errors.New("the URL names several servers; name one")
	}
	u, err = url.Parse(rawURL)
	if err != nil || u.Hostname() == "" {
		return nil, "", errors.New("the URL has no host") // the error would quote the URL
	}
	if u.Port() != "" {
		port = u.Port()
	}
	return u, net.JoinHostPort(u.Hostname(), port), nil
}

// hosts returns where in a URL the servers are.
func hosts(rest string) string {
	where, _, _ := strings.Cut(rest, "?")
	where = where[strings.LastIndex(where, "@")+1:]
	where, _, _ = strings.Cut(strings.TrimPrefix(where, "//"), "/")
	return where
}

// Detour starts a proxy for the server of a URL, and returns the URL by which a client goes through it.
func Detour(rawURL string) (through string, p *toxic.Proxy, err error) {
	u, addr, err := server(rawURL)
	if err != nil {
		return "", nil, err
	}
	if p, err = toxic.Listen(addr); err != nil {
		return "", nil, err
	}
	u.Host = p.Addr()
	if q := u.Query(); u.Scheme == "mongodb" && !q.Has("directConnection") { // else the client asks the server where it is
		q.Set("directConnection", "true")
		u.RawQuery = q.Encode()
		if u.Path == "" {
			u.Path = "/"
		}
	}
	return u.String(), p, nil
}
