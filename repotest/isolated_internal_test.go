package repotest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
)

func TestPlaces(t *testing.T) {
	for url, want := range map[string]string{
		"memory:":                   "memory:",
		"pebble:":                   "pebble:/d",
		"pebble:blog.db?sync=false": "pebble:/d?sync=false",
		"redis://localhost:6379/1":  "redis://localhost:6379/1?prefix=tmp_x",
		"rediss://u:p@h?cluster=true&prefix=mine":    "rediss://u:p@h?cluster=true&prefix=tmp_x",
		"unix:///run/redis.sock":                     "unix:///run/redis.sock?prefix=tmp_x",
		"mongodb://localhost":                        "mongodb://localhost/?database=tmp_x",
		"mongodb://a,b/blog?replicaSet=rs":           "mongodb://a,b/blog?replicaSet=rs&database=tmp_x",
		"mongodb://u:p%2Fw@a/users?database=blog":    "mongodb://u:p%2Fw@a/users?database=tmp_x",
		"cassandra://localhost/blog":                 "cassandra://localhost/tmp_x?replication=1",
		"cassandra://localhost":                      "cassandra://localhost/tmp_x?replication=1",
		"cassandra://u:p@a:1,b:2/blog?replication=3": "cassandra://u:p@a:1,b:2/tmp_x?replication=3",
		"cassandra://a/blog?dc=east&timeout=3s":      "cassandra://a/tmp_x?dc=east&timeout=3s&replication=1",
	} {
		got, err := placeOf(url, "tmp_x", func() string { return "/d" })
		if got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", url, got, err, want)
		}
	}
	for _, url := range []string{"secret", "elsewhere://secret/b"} {
		if _, err := placeOf(url, "tmp_x", nil); !errors.Is(err, driver.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want ErrInvalid", url, err)
		}
	}
	name := newName(time.Date(2026, 3, 4, 23, 0, 0, 0, time.FixedZone("", -7200)))
	if !regexp.MustCompile(`^tmp_20260305_[0-9a-f]{12}$`).MatchString(name) {
		t.Errorf("a name is %q", name)
	}
}

// A served store is one with a place on a server, and notes what becomes of it.
type served struct {
	*memory.Store
	did []string
}

func (s *served) Erase(context.Context) error {
	s.did = append(s.did, "erase")
	return nil
}

func (s *served) Close() error {
	s.did = append(s.did, "close")
	return s.Store.Close()
}

// A fatal test stops at Fatal, in a goroutine of its own.
type fatalTest struct {
	testing.TB
	text string
}

func (t *fatalTest) Fatal(args ...any) {
	t.text = fmt.Sprint(args...)
	runtime.Goexit()
}

// A place whose store cannot be wrapped is removed all the same.
func TestIsolatedLeavesNothing(t *testing.T) {
	inner, fatal := &served{Store: memory.New(nil)}, &fatalTest{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		open := func(context.Context, string) (driver.Store, error) { return inner, nil }
		Isolated(fatal, "redis://localhost", open, &Options{Rules: []Rule{{Nth: -1}}})
	}()
	<-done
	if !slices.Equal(inner.did, []string{"erase", "close"}) || !strings.Contains(fatal.text, "a number out of range") {
		t.Errorf("it did %v, and the test ended with %q", inner.did, fatal.text)
	}
}
