package redis_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	server := testserver.Shared(t, testserver.Redis)
	authority := backendtest.NewAuthority(t)
	cert := authority.Issue(t, server.Addr, time.Now().Add(time.Hour))
	addr, file := backendtest.Encrypted(t, &tls.Config{Certificates: []tls.Certificate{cert.Certificate}}, server.Addr), authority.File
	prefix := "prefix=" + driver.NewToken().String()
	s, ts := open(t, "rediss://"+addr+"?"+prefix+"&ca="+file)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	if err := s.Drop(t.Context(), ts.All()); err != nil {
		t.Error(err)
	}
	for what, tt := range map[string]struct {
		url, want string
		kind      error
	}{
		"a certificate that nobody signed": {"rediss://" + addr, "must be trusted", driver.ErrInvalid},
		"TLS to a server without":          {"rediss://" + server.Addr + "?dial_timeout=300ms&ca=" + file, "write redis://", driver.ErrUnavailable},
		"no TLS to a server with":          {"redis://" + addr, "write rediss://", driver.ErrUnavailable},
	} {
		begun := time.Now()
		s, err := redis.Open(t.Context(), tt.url)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, tt.kind) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v, want %v with %q", what, err, tt.kind, tt.want)
		}
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("%s: the error took %s", what, took)
		}
	}
}

// askingServer returns the address by which a server asks clients for a certificate: its
// own TLS, or a front before it where the server was built without TLS or cannot read the
// files of the test.
func askingServer(t *testing.T, authority *backendtest.Authority, until time.Time) string {
	t.Helper()
	server := testserver.Start(t, testserver.Redis)
	cert := authority.Issue(t, server.Addr, until)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr})
	defer client.Close()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	err = client.Do(t.Context(), "config", "set", "tls-cert-file", cert.File, "tls-key-file", cert.Key, "tls-ca-cert-file", authority.File, "tls-port", port).Err()
	if err != nil {
		t.Logf("a front speaks TLS for the server: %v", err)
		return backendtest.Encrypted(t, authority.Asking(cert), server.Addr)
	}
	host, _, _ := net.SplitHostPort(server.Addr)
	return net.JoinHostPort(host, port)
}

// A server that asks for a client's certificate takes one that it trusts, and any other
// is refused with the remedy.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs := backendtest.NewAuthority(t), backendtest.NewAuthority(t)
	valid := time.Now().Add(time.Hour)
	const loopback = "127.0.0.1:1"
	addr := askingServer(t, ours, valid)
	mine, foreign := ours.Issue(t, loopback, valid), theirs.Issue(t, loopback, valid)
	expired := ours.Issue(t, loopback, time.Now().Add(-time.Hour))
	url := func(ca string, c backendtest.Certificate, key string) string {
		return "rediss://" + addr + "?ca=" + ca + "&cert=" + c.File + "&key=" + key
	}
	s, ts := open(t, url(ours.File, mine, mine.Key))
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	for what, tt := range map[string]struct {
		url, want string
		kind      error
	}{
		"no certificate":                    {"rediss://" + addr + "?ca=" + ours.File, "options cert and key", nil},
		"a certificate of another":          {url(ours.File, foreign, foreign.Key), "options cert and key", nil},
		"an expired certificate":            {url(ours.File, expired, expired.Key), "get a new one", driver.ErrInvalid},
		"a server that another signed":      {url(theirs.File, mine, mine.Key), "must be trusted", driver.ErrInvalid},
		"a key of another certificate":      {url(ours.File, mine, foreign.Key), "does not match", driver.ErrInvalid},
		"a certificate without its key":     {"rediss://" + addr + "?cert=" + mine.File, "belong together", driver.ErrInvalid},
		"a file that is not there":          {"rediss://" + addr + "?cert=/nosuch&key=/nosuch", "no such file", driver.ErrInvalid},
		"certificates without TLS":          {"redis://" + addr + "?cert=" + mine.File + "&key=" + mine.Key, "for rediss://", driver.ErrInvalid},
		"a file that holds no certificates": {"rediss://" + addr + "?ca=" + mine.Key, "no certificate in PEM", driver.ErrInvalid},
	} {
		s, err := redis.Open(t.Context(), tt.url)
		if err == nil {
			s.Close()
		}
		// A server that refuses a client may close the connection before it has said so.
		if tt.kind == nil && (errors.Is(err, driver.ErrInvalid) || errors.Is(err, driver.ErrUnavailable)) {
			tt.kind = err
		}
		if tt.kind == nil || !errors.Is(err, tt.kind) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v, want %v with %q", what, err, tt.kind, tt.want)
		}
	}
}

// A socket of the machine, behind which a server listens.
func TestSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go backendtest.Accept(l, testserver.Shared(t, testserver.Redis).Addr)
	s, ts := open(t, "unix://"+path+"?db=3&prefix="+driver.NewToken().String())
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	if d := s.Facts().Detail; !strings.Contains(d, path) || !strings.Contains(d, "database 3") {
		t.Errorf("detail %q", d)
	}
	if err := s.Drop(t.Context(), ts.All()); err != nil {
		t.Error(err)
	}
}
