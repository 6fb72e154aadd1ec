package loadtest

import (
	"net"
	"net/url"
	"regexp"
	"strings"
)

var secretOption = regexp.MustCompile(`(?i)(pass|secret|token|key|auth|cred)`)

// Redact returns a store's URL without what must not be seen: a password, and
// options that may be one.
func Redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if i := strings.LastIndexByte(rest, '@'); ok && i >= 0 {
		user, _, _ := strings.Cut(rest[:i], ":") // a password may hold any of the marks
		raw = scheme + "://" + user + ":***" + rest[i:]
	}
	head, query, some := strings.Cut(raw, "?")
	if !some {
		return raw
	}
	options := strings.Split(query, "&")
	for i, o := range options {
		if name, _, _ := strings.Cut(o, "="); secretOption.MatchString(name) {
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
