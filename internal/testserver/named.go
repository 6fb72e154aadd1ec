package testserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// errURL stands for what a driver says of a bad URL, which may quote its password.
var errURL = errors.New("it is not a valid URL")

// named returns the server at the URL that the store's variable names, after a round trip.
func named(ctx context.Context, store Store, rawURL string) (*Server, error) {
	k := store.kind()
	if !strings.HasPrefix(rawURL, k.scheme) || address(rawURL) == "" {
		return nil, fmt.Errorf("testserver: %s is not a URL of the form %s://HOST:PORT%s", k.variable, k.scheme, k.path)
	}
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	if err := k.check(ctx, rawURL); err != nil {
		return nil, fmt.Errorf("testserver: %s names %s, which cannot be used: %s; start a server there or unset the variable",
			k.variable, address(rawURL), redact(err.Error(), rawURL))
	}
	return &Server{Store: store, URL: rawURL, Addr: address(rawURL)}, nil
}

// address returns the hosts and ports of a URL, and nothing of it that may be secret. A MongoDB
// URL may have several, which net/url does not read.
func address(rawURL string) string {
	authority := authority(rawURL)
	return authority[strings.LastIndex(authority, "@")+1:]
}

func authority(rawURL string) string {
	_, rest, _ := strings.Cut(rawURL, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// redact takes the URL, its user, its password and its options out of an error's text.
func redact(text, rawURL string) string {
	_, query, _ := strings.Cut(rawURL, "?")
	user := strings.TrimSuffix(authority(rawURL), address(rawURL))
	_, password, _ := strings.Cut(strings.TrimSuffix(user, "@"), ":")
	plain, _ := url.PathUnescape(password)
	for _, secret := range []string{rawURL, query, user, password, plain} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}
