package cassandra_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
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

// certify writes a certificate for a host that signs itself, with its key, and returns it
// without the key.
func certify(t *testing.T, file, host string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true}
	der, err1 := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	secret, err2 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(file, append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), cert...), 0o600); err != nil {
		t.Fatal(err)
	}
	return cert
}

// A guarded is a server with users and TLS, and with little patience for tombstones.
type guarded struct {
	server *testserver.Server
	ca     string // the certificate that it has
}

func startGuarded(t *testing.T) *guarded {
	t.Helper()
	dir := t.TempDir()
	store, ca := filepath.Join(dir, "store.pem"), filepath.Join(dir, "ca.pem")
	certify(t, store, "127.0.0.1") // which the server is not, as long as nobody knows its address
	set := func(key, value string) string { return "-Dcassandra.settings." + key + "=" + value }
	g := &guarded{ca: ca, server: testserver.Start(t, testserver.Cassandra,
		set("authenticator.class_name", "PasswordAuthenticator"), set("authorizer.class_name", "CassandraAuthorizer"),
		set("client_encryption_options.enabled", "true"), set("client_encryption_options.optional", "true"),
		set("client_encryption_options.ssl_context_factory.class_name", "org.apache.cassandra.security.PEMBasedSslContextFactory"),
		set("client_encryption_options.keystore", store),
		set("tombstone_warn_threshold", "50"), set("tombstone_failure_threshold", "100"))}
	if _, err := cassandra.Open(t.Context(), g.url("cassandra:cassandra", "k?tls=true&ca="+store)); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("open with the certificate of another host: %v, want ErrInvalid", err)
	}
	host, _, _ := net.SplitHostPort(g.server.Addr)
	if err := os.WriteFile(ca, certify(t, store, host), 0o600); err != nil {
		t.Fatal(err)
	}
	g.server.Restart(t)
	return g
}

func (g *guarded) url(user, rest string) string {
	return "cassandra://" + user + "@" + g.server.Addr + "/" + rest
}

// A server with users and TLS is used as a user and with TLS, and any mistake in either is
// named; a read over more tombstones than the server allows is refused, with a remedy.
func TestGuardedServer(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	s, ts := open(t, g.url("cassandra:cassandra", "k?replication=1&tls=true&ca="+g.ca))
	backendtest.MustCommit(t, s, ts.insert(t, "ann", "1"))
	admin := raw(t, g.url("cassandra:cassandra", ""), "k")
	do(t, admin, "CREATE ROLE guest WITH PASSWORD = 'guest' AND LOGIN = true")
	for what, tt := range map[string]struct {
		url, remedy string
		kind        error
	}{
		"a wrong password":        {g.url("cassandra:hunter2", "k"), "user and password", driver.ErrInvalid},
		"no user":                 {"cassandra://" + g.server.Addr + "/k", "user and password", driver.ErrInvalid},
		"without rights":          {g.url("guest:guest", "k"), "grant the user", driver.ErrInvalid},
		"without the certificate": {g.url("cassandra:cassandra", "k?tls=true"), "certificate", driver.ErrInvalid},
	} {
		if _, err := cassandra.Open(t.Context(), tt.url); !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.remedy) || strings.Contains(err.Error(), "hunter2") {
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
