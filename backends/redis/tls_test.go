package redis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// certificate makes one that signs itself, and a file of it.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// encrypted stands before a server and speaks TLS.
func encrypted(t *testing.T, cert tls.Certificate, server string) string {
	t.Helper()
	l, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go accept(l, server)
	return l.Addr().String()
}

func accept(l net.Listener, server string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go relay(c, server)
	}
}

func relay(c net.Conn, server string) {
	defer c.Close()
	s, err := net.Dial("tcp4", server)
	if err != nil {
		return
	}
	defer s.Close()
	go func() {
		io.Copy(s, c)
		s.Close()
	}()
	io.Copy(c, s)
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := testserver.Shared(t, testserver.Redis)
	cert, file := certificate(t)
	addr := encrypted(t, cert, server.Addr)
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
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: the error took %s", what, took)
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
	go accept(l, testserver.Shared(t, testserver.Redis).Addr)
	s, ts := open(t, "unix://"+path+"?db=3&prefix="+driver.NewToken().String())
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	if d := s.Facts().Detail; !strings.Contains(d, path) || !strings.Contains(d, "database 3") {
		t.Errorf("detail %q", d)
	}
	if err := s.Drop(t.Context(), ts.All()); err != nil {
		t.Error(err)
	}
}
