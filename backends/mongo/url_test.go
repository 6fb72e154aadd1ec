package mongo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// What is wrong with a URL is said without the URL.
func TestURLsThatAreRefused(t *testing.T) {
	t.Parallel()
	server := testserver.Shared(t, testserver.Mongo).Addr
	for url, want := range map[string]string{
		"":                                     "scheme",
		"mongodb:":                             "scheme",
		"redis://" + server:                    "scheme",
		"mongodb://":                           "cannot be read",
		"mongodb://u:geheim@/db":               "cannot be read",
		"mongodb://u:geh%eim@" + server:        "cannot be read",
		"mongodb://" + server + "/a%2":         "cannot be read",
		"mongodb://" + server + "/a.b":         "name of at most 63",
		"mongodb://" + server + "/admin":       "server's own",
		"mongodb://" + server + "/?prefix=a.b": "prefix",
		"mongodb://" + server + "/?prefix=" + strings.Repeat("a", 41): "prefix",
		"mongodb://" + server + "/?prefix=a&prefix=b":                 "twice",
		"mongodb://" + server + "/?allow_ferretdb=perhaps":            "true or false",
		"mongodb://" + server + "/?w=1":                               "option w, as it is given, does not keep",
		"mongodb://" + server + "/?journal=false":                     "option journal, as it is given, does not keep",
		"mongodb://" + server + "/?readConcernLevel=local":            "option readConcernLevel, as it is given, does not keep",
		"mongodb://" + server + "/?readPreference=nearest":            "option readPreference, as it is given, does not keep",
		"mongodb://" + server + "/?maxPoolSize=many":                  "cannot be read",
	} {
		if err := refusedBy(t, url); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want ErrInvalid with %q", url, err, want)
		}
	}
	if err := refusedBy(t, "mongodb://"+server+"/?loadBalanced=true"); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("a balancer: %v, want ErrUnsupported", err)
	}
	if _, err := mongo.New(t.Context(), nil, nil); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("no client: %v, want ErrInvalid", err)
	}
}

// The database is that of the path, unless an option names another; stores of different
// prefixes do not meet.
func TestDatabasesAndPrefixes(t *testing.T) {
	t.Parallel()
	server := testserver.Shared(t, testserver.Mongo)
	name := "test" + driver.NewToken().String()
	client := raw(t, server.URL)
	t.Cleanup(func() { client.Database(name).Drop(context.WithoutCancel(t.Context())) })
	base := strings.Replace(server.URL, "/?", "/"+name+"?", 1)
	if base == server.URL {
		t.Fatalf("the URL of the server has no place for a database")
	}
	open := func(url string) (*mongo.Store, *backendtest.Tables) {
		s, err := mongo.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		ts := backendtest.NewTables()
		if err := s.Define(t.Context(), ts.All()); err != nil {
			t.Fatal(err)
		}
		return s, ts
	}
	s, ts := open(base)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	other, ots := open(with(with(base, "prefix=other"), "w=majority"))
	key := backendtest.KeyOf(t, ts.Posts, "ann", "1")
	if n := ots.There(t, other, ots.Posts, key); n != 0 {
		t.Error("a record is seen under another prefix")
	}
	same, sts := open(with(server.URL, "database="+name))
	if n := sts.There(t, same, sts.Posts, key); n != 1 {
		t.Error("the option does not name the database of the path")
	}
	if err := other.Drop(t.Context(), ots.All()); err != nil {
		t.Error(err)
	}
	if n := ts.There(t, s, ts.Posts, key); n != 1 {
		t.Error("a drop under another prefix removed a record")
	}
}

func TestURLOptionsInReference(t *testing.T) { backendtest.URLOptions(t, "MongoDB", mongo.URLOptions) }
