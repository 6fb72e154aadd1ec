package loadtest

import (
	"net"
	"net/url"
	"regexp"
	"strings"
)

// openOption matches the options of URLs whose values may be seen. A secret may be
// the value of any other one.
var openOption = regexp.MustCompile(`^((sync|create|cluster|tls|directConnection)=(true|false)|(db|pool_size|connections)=[0-9]{1,6}|` +
	`replication=[0-9]{1,3}|replicaSet=rs[0-9]{1,3}|((pool|dial|read|write|connect)_)?timeout=[0-9.]{1,9}(ms|s|m))$`)

// Redact returns a store's URL without what must not be seen: what stands before
// the host, which may be a password or a token, the values of options that the
// stores of this module do not have, and what follows a '#'.
func Redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, ":")
	if i := strings.LastIndexByte(rest, '@'); ok && i >= 0 && scheme != "pebble" {
		slashes := rest[:len(rest)-len(strings.TrimLeft(rest, "/"))]
		user, _, some := strings.Cut(rest[len(slashes):i], ":") // a password may hold any of the marks
		if !some {
			user = "" // it is all there is: a token
		}
		raw = scheme + ":" + slashes + user + ":***" + rest[i:]
	}
	head, query, some := strings.Cut(raw, "?")
	if scheme != "pebble" {
		head, _, _ = strings.Cut(head, "#")
	}
	if !some {
		return head
	}
	options := strings.FieldsFunc(query, func(r rune) bool { return strings.ContainsRune("&;#", r) })
	for i, o := range options {
		switch name, _, some := strings.Cut(o, "="); {
		case !some:
			options[i] = "***"
		case !openOption.MatchString(o):
			options[i] = name + "=***"
		}
	}
	return head + "?" + strings.Join(options, "&")
}

// Local reports whether a store's URL leads nowhere but this machine: it has no
// host, or loopback hosts only.
func Local(raw string) bool {
	_, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return true // memory:, pebble:DIR
	}
	rest, _, _ = strings.Cut(rest, "?")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	hosts, _, _ := strings.Cut(rest, "/")
	for _, host := range strings.Split(hosts, ",") {
		if !loopback(host) {
			return false
		}
	}
	return true
}

func loopback(host string) bool {
	if name, err := url.PathUnescape(host); err == nil && strings.HasPrefix(name, "/") {
		return true // a socket in the file system
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || host == "" || ip != nil && ip.IsLoopback()
}
