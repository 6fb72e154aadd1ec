package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// No URL that cannot be right is asked anything, and no error tells a password.
func TestURLs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, want string }{
		{"redis://u:geheim@127.0.0.1:1/0?sync=true", "option 1 of the URL is none of"},
		{"redis://u:geheim@127.0.0.1:1/0?prefix=a&prefix=b", "option 2 of the URL is given twice"},
		{"redis://u:geheim@127.0.0.1:1/x", "database"},
		{"redis://u:geheim@127.0.0.1:1/-1", "database"},
		{"redis://u:geheim@127.0.0.1:1/9999999999", "database"},
		{"redis://u:geheim@127.0.0.1:1/1?db=2", "given twice"},
		{"redis://u:geheim@127.0.0.1:99999", "the port"},
		{"redis://geheim@127.0.0.1:1", "user without a password"},
		{"redis://geheim:@127.0.0.1:1", "user without a password"},
		{"redis://u:1?geheim@127.0.0.1:1", "write %3F for ?"},
		{"redis://u:pa/geheim@127.0.0.1:1", "write %2F for /"},
		{"redis://u:geheim@127.0.0.1:1/0/1", "database"},
		{"redis://u:geheim@127.0.0.1:x/0", "cannot be read"},
		{"redis://u:geheim@/0", "without a host"},
		{"redis:u:geheim@127.0.0.1", "cannot be read"},
		{"redis://u:geheim@127.0.0.1:1/0#part", "cannot be read"},
		{"http://u:geheim@127.0.0.1:1/0", "the scheme"},
		{"unix://u:geheim@host/path", "path of a socket"},
		{"redis://u:geheim@127.0.0.1:1?prefix={a}", "the prefix"},
		{"redis://u:geheim@127.0.0.1:1?prefix=a*", "the prefix"},
		{"redis://u:geheim@127.0.0.1:1?pool_size=0", "pool_size"},
		{"redis://u:geheim@127.0.0.1:1?pool_size=1000000000000", "pool_size"},
		{"redis://u:geheim@127.0.0.1:1?min_replicas=1000000000000", "min_replicas"},
		{"redis://u:geheim@127.0.0.1:1?client_name=a%20b", "client_name"},
		{"redis://u:geheim@127.0.0.1:1?read_timeout=0", "read_timeout"},
		{"redis://u:geheim@127.0.0.1:1?read_timeout=-1s", "read_timeout"},
		{"redis://u:geheim@127.0.0.1:1?max_retries=3", "option 1 of the URL is none of"},
		{"redis://u:geheim@127.0.0.1:1?ca=/none", "are for rediss"},
		{"rediss://u:geheim@127.0.0.1:1?ca=/none", "option ca"},
		{"rediss://u:geheim@127.0.0.1:1?ca=/etc/hostname", "no certificate"},
		{"redis://u:geheim@127.0.0.1:1?%zz", "option 1 of the URL cannot be read"},
	} {
		s, err := redis.Open(t.Context(), tt.url)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("open %s: %v; want ErrInvalid with %q and no password", tt.url, err, tt.want)
		}
	}
}

// A client whose settings break the contract is refused with what to change.
func TestClientsThatAreRefused(t *testing.T) {
	t.Parallel()
	ring := goredis.NewRing(&goredis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	if _, err := redis.New(t.Context(), ring, nil); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("a client of a ring: %v, want ErrUnsupported", err)
	}
	for want, o := range map[string]goredis.Options{
		"ContextTimeoutEnabled": {},
		"ReadTimeout":           {ContextTimeoutEnabled: true, ReadTimeout: -1},
		"WriteTimeout":          {ContextTimeoutEnabled: true, WriteTimeout: -2, ReadTimeout: time.Second},
		"ClientSideCache":       {ContextTimeoutEnabled: true, Protocol: 3, ClientSideCacheConfig: &goredis.ClientSideCacheConfig{}},
	} {
		o.Addr = "127.0.0.1:1"
		client := goredis.NewClient(&o)
		defer client.Close()
		if _, err := redis.New(t.Context(), client, nil); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("new: %v, want ErrInvalid that names %s", err, want)
		}
	}
	if _, err := redis.New(t.Context(), (*goredis.Client)(nil), nil); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("no client: %v, want ErrInvalid", err)
	}
}

func TestURLOptionsInReference(t *testing.T) { backendtest.URLOptions(t, "Redis", redis.URLOptions) }
