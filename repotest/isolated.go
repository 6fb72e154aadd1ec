package repotest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Isolated opens a store for one test, in a place of its own that is there for no longer than the
// test: a prefix in Redis, a database of MongoDB, a keyspace of Cassandra, which is made with one
// copy unless the URL says otherwise, a directory for Pebble. So tests with the same collections can
// run side by side on one server, and none has to drop them, which takes seconds for each. URL is
// that of any place on the server; open is backends.OpenDriver, or the Open of one backend:
//
//	store := repotest.Isolated(t, os.Getenv("TEST_STORE"), backends.OpenDriver, nil)
//	posts, err := repo.Open[Post](t.Context(), repo.NewStore(store, nil), schema)
//
// Closing the store removes the place, and so does the end of the test. A test that is killed leaves
// it behind, by a name that begins with [driver.Temporary] and the day. The options are those of [New].
func Isolated(t testing.TB, url string, open func(ctx context.Context, url string) (driver.Store, error), opts *Options) *Store {
	t.Helper()
	place, err := placeOf(url, newName(time.Now()), t.TempDir)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(inner, opts)
	if err != nil {
		left := &Store{inner: inner, temporary: true}
		t.Fatal(errors.Join(err, left.erase(), inner.Close()))
	}
	s.temporary = true
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newName returns a name that no other place has.
func newName(now time.Time) string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // which never fails
	return driver.Temporary + now.UTC().Format("20060102") + "_" + hex.EncodeToString(random[:])
}

// placeOf returns the URL of a place of a name on the server of another URL. No error quotes the URL:
// it may have a password.
func placeOf(url, name string, dir func() string) (string, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	where, query, _ := strings.Cut(rest, "?")
	var options []string
	if query != "" {
		options = strings.Split(query, "&")
	}
	switch {
	case !ok:
		return "", fmt.Errorf("repotest: the URL of the store has no scheme, as in redis://localhost: %w", driver.ErrInvalid)
	case scheme == "memory":
	case scheme == "pebble":
		where = dir()
	case scheme == "redis" || scheme == "rediss" || scheme == "unix":
		options = append(without(options, "prefix"), "prefix="+name)
	case scheme == "cassandra":
		where = hostsOf(where) + name
		if len(without(options, "replication")) == len(options) {
			options = append(options, "replication=1")
		}
	case scheme == "mongodb" || scheme == "mongodb+srv":
		if hosts := hostsOf(where); len(hosts) > len(where) {
			where = hosts
		}
		options = append(without(options, "database"), "database="+name) // that of the path is the user's
	default:
		return "", fmt.Errorf("repotest: the scheme of the URL is none of memory, pebble, redis, rediss, unix, mongodb, mongodb+srv and cassandra: %w", driver.ErrInvalid)
	}
	if len(options) > 0 {
		where += "?" + strings.Join(options, "&")
	}
	return scheme + ":" + where, nil
}

// hostsOf returns //user:password@hosts/ without what follows.
func hostsOf(where string) string {
	user := max(strings.LastIndex(where, "@")+1, min(len("//"), len(where)))
	hosts, _, _ := strings.Cut(where[user:], "/")
	return where[:user] + hosts + "/"
}

// without returns options without one of a name.
func without(options []string, name string) []string {
	var rest []string
	for _, o := range options {
		if !strings.HasPrefix(o, name+"=") {
			rest = append(rest, o)
		}
	}
	return rest
}

// erase removes the place of a temporary store, if it is on a server.
func (s *Store) erase() error {
	e, ok := s.inner.(driver.Eraser)
	if !ok || !s.temporary {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Erase(ctx); err != nil {
		return fmt.Errorf("repotest: the place of a test is left behind: %w", err)
	}
	return nil
}
