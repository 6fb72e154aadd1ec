package backendtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority signs certificates for a test.
type Authority struct {
	File string // its own certificate, in PEM
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// A Certificate is one that an Authority signed, with its key, also as files in PEM.
type Certificate struct {
	tls.Certificate
	File, Key string
}

// NewAuthority makes one.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-24 * time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	c := a.sign(t, template)
	a.File, a.key = c.File, c.PrivateKey.(*ecdsa.PrivateKey)
	cert, err := x509.ParseCertificate(c.Certificate.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	a.cert = cert
	return a
}

// Issue returns a certificate for servers and clients on the loopback addresses of a
// server, which holds until a time.
func (a *Authority) Issue(t *testing.T, addr string, until time.Time) Certificate {
	t.Helper()
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return a.sign(t, &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(host)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}})
}

// sign makes a certificate; the first one signs itself.
func (a *Authority) sign(t *testing.T, template *x509.Certificate) Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := Certificate{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	writePEM(t, c.File, "CERTIFICATE", der)
	writePEM(t, c.Key, "PRIVATE KEY", secret)
	return c
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Asking returns a configuration of a server that asks clients for a certificate of an
// authority.
func (a *Authority) Asking(c Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{c.Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
}

// Encrypted stands before a server and speaks TLS as config says. It returns its address.
func Encrypted(t *testing.T, config *tls.Config, server string) string {
	t.Helper()
	l, err := tls.Listen("tcp4", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go Accept(l, server)
	return l.Addr().String()
}

// Accept passes what comes to a listener on to a server until the listener is closed.
func Accept(l net.Listener, server string) {
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
		_, _ = io.Copy(s, c)
		s.Close()
	}()
	_, _ = io.Copy(c, s)
}
