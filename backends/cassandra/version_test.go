package cassandra_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// forger passes on what a server and its clients say, but for one text, in the place of
// which clients read another one of the same length.
func forger(t *testing.T, server, text, as string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp4", server)
			if err != nil {
				client.Close()
				return
			}
			go func() {
				defer behind.Close()
				_, _ = io.Copy(behind, client)
			}()
			go func() {
				defer client.Close()
				_ = forge(client, behind, []byte(text), []byte(as))
			}()
		}
	}()
	return l.Addr().String()
}

// forge copies what a server says: envelopes with a head of 9 bytes up to READY, then segments
// with a head of 6 bytes and a checksum behind them, as version 5 of the protocol has it.
func forge(client io.Writer, server io.Reader, text, as []byte) error {
	for ready := false; !ready; {
		head := make([]byte, 9)
		if _, err := io.ReadFull(server, head); err != nil {
			return err
		}
		body := make([]byte, binary.BigEndian.Uint32(head[5:]))
		if _, err := io.ReadFull(server, body); err != nil {
			return err
		}
		if _, err := client.Write(append(head, body...)); err != nil {
			return err
		}
		ready = head[4] == 2
	}
	for {
		head := make([]byte, 6)
		if _, err := io.ReadFull(server, head); err != nil {
			return err
		}
		body := make([]byte, (int(head[0])|int(head[1])<<8|int(head[2]&1)<<16)+4)
		if _, err := io.ReadFull(server, body); err != nil {
			return err
		}
		body = bytes.ReplaceAll(body[:len(body)-4], text, as)
		sum := crc32.Update(crc32.ChecksumIEEE([]byte{0xfa, 0x2d, 0x55, 0xca}), crc32.IEEETable, body)
		if _, err := client.Write(binary.LittleEndian.AppendUint32(append(head, body...), sum)); err != nil {
			return err
		}
	}
}

// A server that is too old is refused with the version that is wanted, and one whose own
// indexes are not to be trusted has none.
func TestOldServers(t *testing.T) {
	t.Parallel()
	shared(t)
	server := testserver.Shared(t, testserver.Cassandra)
	now := raw(t, server.URL, "")
	var version string
	if err := now.Query(`SELECT release_version FROM system.local`).ScanContext(t.Context(), &version); err != nil {
		t.Fatal(err)
	}
	opened := func(as string) (*cassandra.Store, error) {
		c := clusterOf(t, server.URL, "")
		c.Dialer = detour{addr: forger(t, server.Addr, version, as)}
		session, err := c.CreateSession()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { go session.Close() }) // where a node goes it can wait for ever
		return cassandra.New(t.Context(), session, &cassandra.Options{Keyspace: common})
	}
	if len(version) != len("4.0.9") {
		t.Fatalf("a version of the form of %s is not forged here", version)
	}
	for _, as := range []string{"4.0.9", "3.9.1"} {
		s, err := opened(as)
		if err = backendtest.Refused(t, s, err); !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), "upgrade it to 4.1 or later") {
			t.Errorf("open of a server of version %s: %v, want ErrUnsupported", as, err)
		}
	}
	for as, want := range map[string]bool{"4.1.3": false, "5.0.3": false, version: true} {
		s, err := opened(as)
		if err != nil {
			t.Fatal(err)
		}
		if f := s.Facts(); f.Native.Has != want || f.Version != as || !want && !strings.Contains(f.Native.Reason, "before Cassandra 5.0.4") {
			t.Errorf("facts of a server of version %s: %+v", as, f.Native)
		}
		if want {
			continue
		}
		if _, err := repo.Open[event](t.Context(), repo.NewStore(s, nil), eventSchema("native")); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "before Cassandra 5.0.4") {
			t.Errorf("open of a collection with native indexes on version %s: %v, want ErrSchema", as, err)
		}
	}
}
