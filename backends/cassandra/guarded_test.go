package cassandra_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// keep writes a certificate and its key to one file.
func keep(t *testing.T, file string, c backendtest.Certificate) {
	t.Helper()
	key, err1 := os.ReadFile(c.Key)
	cert, err2 := os.ReadFile(c.File)
	if err := errors.Join(err1, err2, os.WriteFile(file, append(key, cert...), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A guarded is a server with users and TLS that asks clients for certificates, and with
// little patience for tombstones.
type guarded struct {
	server    *testserver.Server
	authority *backendtest.Authority // that signed its certificate, and that of mine
	mine      backendtest.Certificate
}

const loopback = "127.0.0.1:1"

func startGuarded(t *testing.T) *guarded {
	t.Helper()
	store, valid := filepath.Join(t.TempDir(), "store.pem"), time.Now().Add(time.Hour)
	g := &guarded{authority: backendtest.NewAuthority(t)}
	g.mine = g.authority.Issue(t, loopback, valid)
	keep(t, store, g.mine) // which the server is not, as long as nobody knows its address
	set := func(key, value string) string { return "-Dcassandra.settings." + key + "=" + value }
	g.server = testserver.Start(t, testserver.Cassandra,
		set("authenticator.class_name", "PasswordAuthenticator"), set("authorizer.class_name", "CassandraAuthorizer"),
		set("client_encryption_options.enabled", "true"), set("client_encryption_options.optional", "true"),
		set("client_encryption_options.require_client_auth", "true"),
		set("client_encryption_options.ssl_context_factory.class_name", "org.apache.cassandra.security.PEMBasedSslContextFactory"),
		set("client_encryption_options.keystore", store), set("client_encryption_options.truststore", g.authority.File),
		set("tombstone_warn_threshold", "50"), set("tombstone_failure_threshold", "100"))
	if _, err := cassandra.Open(t.Context(), g.url("cassandra:cassandra", "k?"+g.tls())); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("open with the certificate of another host: %v, want ErrInvalid", err)
	}
	keep(t, store, g.authority.Issue(t, g.server.Addr, valid))
	g.server.Restart(t)
	return g
}

// tls returns the options with which a client is taken.
func (g *guarded) tls() string {
	return "tls=true&ca=" + g.authority.File + "&cert=" + g.mine.File + "&key=" + g.mine.Key
}

func (g *guarded) url(user, rest string) string {
	return "cassandra://" + user + "@" + g.server.Addr + "/" + rest
}

// A server with users and TLS is used as a user and with TLS, and any mistake in either is
// named; a read over more tombstones than the server allows is refused, with a remedy.
func TestGuardedServer(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("cassandra\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, ts := open(t, g.url("cassandra", "k?replication=1&local=true&password_file="+file+"&"+g.tls()))
	backendtest.MustCommit(t, s, ts.insert(t, "ann", "1"))
	admin := raw(t, g.url("cassandra:cassandra", ""), "k")
	do(t, admin, "CREATE ROLE guest WITH PASSWORD = 'guest' AND LOGIN = true")
	theirs := backendtest.NewAuthority(t)
	foreign := theirs.Issue(t, loopback, time.Now().Add(time.Hour))
	expired := g.authority.Issue(t, loopback, time.Now().Add(-time.Hour))
	for what, tt := range map[string]struct {
		url, remedy string
		kind        error
	}{
		"a wrong password":        {g.url("cassandra:hunter2", "k"), "user and password", driver.ErrInvalid},
		"no user":                 {"cassandra://" + g.server.Addr + "/k", "user and password", driver.ErrInvalid},
		"without rights":          {g.url("guest:guest", "k"), "grant the user", driver.ErrInvalid},
		"without the authority":   {g.url("cassandra:cassandra", "k?tls=true"), "certificate", driver.ErrInvalid},
		"another authority":       {g.url("cassandra:cassandra", "k?tls=true&ca="+theirs.File), "must be trusted", driver.ErrInvalid},
		"no certificate":          {g.url("cassandra:cassandra", "k?tls=true&ca="+g.authority.File), "options cert and key", nil},
		"another's certificate":   {g.url("cassandra:cassandra", "k?tls=true&ca="+g.authority.File+"&cert="+foreign.File+"&key="+foreign.Key), "options cert and key", nil},
		"an expired certificate":  {g.url("cassandra:cassandra", "k?tls=true&cert="+expired.File+"&key="+expired.Key), "get a new one", driver.ErrInvalid},
		"a password without user": {"cassandra://" + g.server.Addr + "/k?password_file=" + file, "without its user", driver.ErrInvalid},
	} {
		_, err := cassandra.Open(t.Context(), tt.url)
		// A server that refuses a client may close the connection before it has said so.
		if tt.kind == nil && (errors.Is(err, driver.ErrInvalid) || errors.Is(err, driver.ErrUnavailable)) {
			tt.kind = err
		}
		if err == nil || !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.remedy) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("open with %s: %v, want %v that says %q and not the password", what, err, tt.kind, tt.remedy)
		}
	}
	for i := range 120 {
		do(t, admin, `DELETE FROM posts WHERE author = 'ann' AND "_sort" = ?`, fmt.Sprintf(":t%04d#", i))
	}
	if err := backendtest.Drain(s.Range(t.Context(), driver.Span{Table: ts.posts, Key: driver.Key{Partition: "ann#"}})); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "tombstones") {
		t.Errorf("range over 120 tombstones: %v, want ErrUnavailable that names them", err)
	}
	if !ts.there(t, s, ts.posts, ts.key(t, "ann", "1")) {
		t.Error("a record beside tombstones cannot be read")
	}
}
