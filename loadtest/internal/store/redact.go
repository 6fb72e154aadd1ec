package store

import (
	"regexp"
	"strings"
)

// openOption matches the options of URLs whose values may be seen. A secret may be
// the value of any other one.
var openOption = regexp.MustCompile(`^((sync|create|cluster|tls|local|directConnection)=(true|false)|password_env=[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|(db|pool_size|connections)=[0-9]{1,6}|` +
	`replication=[0-9]{1,3}|replicaSet=rs[0-9]{1,3}|((pool|dial|read|write|connect)_)?timeout=[0-9.]{1,9}(ms|s|m))$`)

// schemes are those of URLs that can have a password.
var schemes = regexp.MustCompile(`^(redis|rediss|unix|mongodb|mongodb\+srv|cassandra)$`)

var (
	openUser = regexp.MustCompile(`^[\w.-]*$`)
	openHost = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[\w.-]*|%2F[\w./%-]*)(:[0-9]*)?$`)
	openPath = regexp.MustCompile(`^(/[\w./-]*)?$`)
)

// Redact returns a store's URL without what must not be seen: what stands before
// the host, which may be a password or a token, what cannot be a host, the values of
// options that the stores of this module do not have, and what follows a '#'. The URL of
// no store loses all that stands before its last '@', or everything.
func Redact(raw string) string {
	scheme, rest, _ := strings.Cut(raw, ":")
	switch {
	case scheme == "pebble" || scheme == "memory":
		return redactOptions(raw, "?")
	case !schemes.MatchString(scheme):
		if i := strings.LastIndexByte(raw, '@'); i >= 0 {
			return "***@" + redactPlace(raw[i+1:])
		} else if strings.Contains(raw, "://") {
			return "***"
		}
		return redactOptions(raw, "?")
	}
	body := strings.TrimLeft(rest, "/")
	slashes := rest[:len(rest)-len(body)]
	user := ""
	if i := strings.LastIndexByte(body, '@'); i >= 0 {
		user, body = redactUser(body[:i], passwordOption.MatchString(body[i:])), body[i+1:]
	}
	if scheme == "unix" { // the last slash is the path's
		return strings.TrimSuffix(scheme+":"+slashes, "/") + user + redactOptions("/"+strings.TrimLeft(body, "/"), "?#")
	}
	return scheme + ":" + slashes + user + redactPlace(body)
}

// redactPlace returns what stands behind the user: hosts, path and options.
func redactPlace(place string) string {
	end := strings.IndexAny(place, "/?#")
	if end < 0 {
		end = len(place)
	}
	return redactHosts(place[:end]) + redactOptions(place[end:], "?#")
}

var passwordOption = regexp.MustCompile(`\?(.*&)?password_(env|file)=`)

// redactUser returns what stands before the hosts, an @ at its end. Without a colon it may
// be a token, unless the password is elsewhere.
func redactUser(text string, elsewhere bool) string {
	name, _, some := strings.Cut(text, ":") // a password may hold any of the marks
	switch {
	case !openUser.MatchString(name) || !some && !elsewhere:
		return ":***@"
	case !some:
		return name + "@"
	}
	return name + ":***@"
}

// redactHosts returns the hosts of a URL, unless one is none: then the password may be
// among them.
func redactHosts(hosts string) string {
	for host := range strings.SplitSeq(hosts, ",") {
		if !openHost.MatchString(host) {
			return "***"
		}
	}
	return hosts
}

// redactOptions returns the end of a URL, its path and the options after one of marks.
func redactOptions(end, marks string) string {
	path, query := end, ""
	if i := strings.IndexAny(end, marks); i >= 0 {
		path, query = end[:i], end[i:]
	}
	if marks != "?" && !openPath.MatchString(path) {
		path = "/***"
	}
	query, some := strings.CutPrefix(query, "?")
	if !some {
		return path
	}
	options := strings.FieldsFunc(query, func(r rune) bool { return strings.ContainsRune("&;#", r) })
	for i, o := range options {
		switch name, _, some := strings.Cut(o, "="); {
		case !some || !openUser.MatchString(strings.ReplaceAll(name, "%", "")):
			options[i] = "***"
		case !openOption.MatchString(o):
			options[i] = name + "=***"
		}
	}
	return path + "?" + strings.Join(options, "&")
}
