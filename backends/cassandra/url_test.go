package cassandra_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
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

// What a URL can mean in no way is refused before any server is asked, and no error has
// the password.
func TestBadURLs(t *testing.T) {
	t.Parallel()
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(noPEM, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tail := range []string{"127.0.0.1", "127.0.0.1/", "/k", "127.0.0.1:x/k", "127.0.0.1:0/k", "127.0.0.1:70000/k", "a,,b/k", "127.0.0.1/k#f", "127.0.0.1/k/l",
		"127.0.0.1/system_auth", "127.0.0.1/k%00", "127.0.0.1/" + strings.Repeat("k", 49),
		"127.0.0.1/k?nonsense=1", "127.0.0.1/k?dc=", "127.0.0.1/k?dc=a'b", "127.0.0.1/k?dc=a&dc=b", "127.0.0.1/k?replication=", "127.0.0.1/k?replication=0", "127.0.0.1/k?replication=x:y",
		"127.0.0.1/k?replication=3,3", "127.0.0.1/k?replication=a':1", "127.0.0.1/k?tls=maybe", "127.0.0.1/k?ca=x", "127.0.0.1/k?tls=true&ca=/nosuch", "127.0.0.1/k?tls=true&ca=" + noPEM,
		"127.0.0.1/k?connections=0", "127.0.0.1/k?timeout=0s", "127.0.0.1/k?timeout=5", "127.0.0.1/k?connect_timeout=-1s"} {
		for _, user := range []string{"", "ann:hunter2@"} {
			s, err := cassandra.Open(t.Context(), "cassandra://"+user+tail)
			if !errors.Is(err, driver.ErrInvalid) || s != nil {
				t.Errorf("open %s%s: %v, %v; want ErrInvalid", user, tail, s, err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("open %s%s: the error has the password: %v", user, tail, err)
			}
		}
	}
	for _, url := range []string{"", "cassandra:", "redis://127.0.0.1/k", "cassandra://ann@127.0.0.1/k", "cassandra://:pw@127.0.0.1/k"} {
		if _, err := cassandra.Open(t.Context(), url); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("open %q: %v, want ErrInvalid", url, err)
		}
	}
}

// Where there is no server, no keyspace or no TLS, that is said.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	server := testserver.Shared(t, testserver.Cassandra)
	url := "cassandra://" + server.Addr + "/"
	silent := newSilence(t)
	for _, tt := range []struct {
		url  string
		want error
		text string
	}{
		{url + "nosuch", driver.ErrInvalid, "replication=3"},
		{url + common + "?tls=true", driver.ErrInvalid, "TLS"},
		{"cassandra://127.0.0.1:1/k", driver.ErrUnavailable, "127.0.0.1:1"},
		{"cassandra://" + silent + "/k?connect_timeout=300ms", driver.ErrUnavailable, silent},
	} {
		if s, err := cassandra.Open(t.Context(), tt.url); !errors.Is(err, tt.want) || s != nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("open %s: %v, want %v that says %q", tt.url, err, tt.want, tt.text)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := cassandra.Open(ctx, "cassandra://"+silent+"/k"); !errors.Is(err, driver.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("open in silence: %v, want ErrTimeout", err)
	}
	if took := time.Since(begun); took > 4*time.Second { // without the context a connection may take five
		t.Errorf("open took %s, want 200ms", took)
	}
	if _, err := cassandra.Open(ctx, url+common); !errors.Is(err, driver.ErrTimeout) {
		t.Errorf("open with a context that is over: %v, want ErrTimeout", err)
	}
}

// Facts are what the server says.
func TestFacts(t *testing.T) {
	t.Parallel()
	s, _ := shared(t)
	f := s.Facts()
	if f.Scope != driver.ScopePartition || f.Durability != driver.Power || f.Setting != "commitlog_sync batch, 1 copy" || !f.Uncertain || f.OneProcess || f.Sizes.Has {
		t.Errorf("facts: %+v", f)
	}
	for _, want := range []string{"keyspace " + common, "1 copy", "QUORUM, SERIAL", "of 1 at", "paxos_variant v2"} {
		if !strings.Contains(f.Detail, want) {
			t.Errorf("detail %q does not say %q", f.Detail, want)
		}
	}
	name, url, session := ownKeyspace(t)
	do(t, session, `ALTER KEYSPACE "`+name+`" WITH durable_writes = false`)
	volatile, err := cassandra.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer volatile.Close()
	if f := volatile.Facts(); f.Durability != driver.Memory || f.Setting != "durable_writes false, 1 copy" {
		t.Errorf("facts without a commit log: %+v", f)
	}
}

// A gatekeeper is a server that refuses whoever knocks, in the words of the protocol: the
// servers of the tests ask nobody for a password.
func gatekeeper(t *testing.T, code byte) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go refuse(c, code)
		}
	}()
	return l.Addr().String()
}

// refuse answers what a client may ask for, and its STARTUP with an error, of whose code
// the first three of four digits are given.
func refuse(c net.Conn, code byte) {
	defer c.Close()
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[5:]))); err != nil {
			return
		}
		body := []byte{0, 0} // a SUPPORTED that supports nothing
		opcode := byte(6)
		if head[4] == 1 {
			opcode, body = 0, []byte{0, 0, code >> 4, code << 4, 0, 2, 'n', 'o'}
		}
		answer := []byte{head[0] | 0x80, 0, head[2], head[3], opcode, 0, 0, 0, byte(len(body))}
		if _, err := c.Write(append(answer, body...)); err != nil {
			return
		}
	}
}

// Who is refused for a wrong password is told so; any other refusal is not taken for it.
func TestRefusedClients(t *testing.T) {
	t.Parallel()
	open := func(code byte) error {
		_, err := cassandra.Open(t.Context(), "cassandra://ann:hunter2@"+gatekeeper(t, code)+"/k")
		return err
	}
	if err := open(0x10); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "user and password") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("wrong credentials: %v, want ErrInvalid that names the remedy and not the password", err)
	}
	if err := open(0); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("an error of the server: %v, want ErrUnavailable", err)
	}
}

func TestURLOptionsInReference(t *testing.T) {
	backendtest.URLOptions(t, "Cassandra", cassandra.URLOptions)
}
