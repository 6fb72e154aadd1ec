package backends_test

import (
	"errors"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// A server is opened by its URL like any other store, and what is wrong with a URL
// is the caller's mistake.
func TestRedisByURL(t *testing.T) {
	server := testserver.Shared(t, testserver.Redis)
	s, err := backends.OpenDriver(t.Context(), server.URL+"?prefix="+driver.NewToken().String())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if f := s.Facts(); f.Name != "redis" || f.OneProcess || f.Scope != driver.ScopeStore {
		t.Errorf("facts %+v", f)
	}
	for _, url := range []string{"redis:", "redis://", "rediss://?x=1", "unix:", server.URL + "?sync=true", "other://" + server.Addr} {
		if s, err := backends.OpenDriver(t.Context(), url); !errors.Is(err, driver.ErrInvalid) || s != nil {
			t.Errorf("open %s: %v, %v; want ErrInvalid and no store", url, s, err)
		}
	}
}

func TestMongoByURL(t *testing.T) {
	server := testserver.Shared(t, testserver.Mongo)
	s, err := backends.OpenDriver(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if f := s.Facts(); f.Name != "mongo" || f.OneProcess || f.Scope != driver.ScopeStore {
		t.Errorf("facts %+v", f)
	}
	for _, url := range []string{"mongodb:", "mongodb://", "mongodb+srv://", server.URL + "&w=1"} {
		if s, err := backends.OpenDriver(t.Context(), url); !errors.Is(err, driver.ErrInvalid) || s != nil {
			t.Errorf("open %s: %v, %v; want ErrInvalid and no store", url, s, err)
		}
	}
}

func TestCassandraByURL(t *testing.T) {
	server := testserver.Shared(t, testserver.Cassandra)
	url := "cassandra://" + server.Addr + "/"
	s, err := backends.OpenDriver(t.Context(), url+"backends?replication=1&timeout=60s&connect_timeout=60s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if f := s.Facts(); f.Name != "cassandra" || f.OneProcess || f.Scope != driver.ScopePartition {
		t.Errorf("facts %+v", f)
	}
	for _, url := range []string{"cassandra:", "cassandra://", url, url + "nosuch", url + "backends?consistency=ONE"} {
		if s, err := backends.OpenDriver(t.Context(), url); !errors.Is(err, driver.ErrInvalid) || s != nil {
			t.Errorf("open %s: %v, %v; want ErrInvalid and no store", url, s, err)
		}
	}
}
