package redis_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
)

// A monitor hears all commands that a server gets, those of scripts and of other servers
// left out.
type monitor struct {
	lines  *bufio.Scanner
	raw    *goredis.Client
	others []*testserver.Server
	asked  int
	got    int
}

func monitored(t *testing.T, addr string, others ...*testserver.Server) *monitor {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Minute))
	fmt.Fprint(conn, "MONITOR\r\n")
	m := &monitor{lines: bufio.NewScanner(conn), raw: raw(t, addr), others: others}
	m.lines.Buffer(nil, 64<<20)
	m.lines.Scan()
	return m
}

// count returns how many commands came before, and how many times the server has read
// from a connection.
func (m *monitor) count(t *testing.T) (requests, reads int) {
	t.Helper()
	m.asked++
	mark := fmt.Sprint("mark-", m.asked)
	do(t, m.raw, "echo", mark)
	for m.lines.Scan() {
		line := m.lines.Text()
		if strings.Contains(line, mark) {
			return m.got, m.reads(t)
		}
		if m.counts(line) {
			m.got++
		}
	}
	t.Fatal(m.lines.Err())
	return 0, 0
}

// counts reports whether a line, as in `1.5 [0 127.0.0.1:5000] "get" "a"`, is a command that
// a client sent.
func (m *monitor) counts(line string) bool {
	_, line, _ = strings.Cut(line, "[")
	from, command, ok := strings.Cut(line, "]")
	return ok && !strings.HasSuffix(from, " lua") && !strings.HasPrefix(command, ` "info" "stats"`) &&
		!slices.ContainsFunc(m.others, func(s *testserver.Server) bool { return strings.HasSuffix(from, " "+s.Addr) })
}

func (m *monitor) reads(t *testing.T) int {
	t.Helper()
	_, after, _ := strings.Cut(do(t, m.raw, "info", "stats").(string), "total_reads_processed:")
	line, _, _ := strings.Cut(after, "\r")
	n, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return n - 2*m.asked // of marks and of this
}

// Events count the commands that MONITOR shows, and no more round trips than the server
// had to read.
func TestSent(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis)
	s, err := redis.Open(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := monitored(t, server.Addr)
	sent := &backendtest.Sent{Store: s, Got: m.count}
	sent.Check(t)
	sent.CheckLoad(t)
}

// Events count what all servers of a cluster get.
func TestSentInACluster(t *testing.T) {
	t.Parallel()
	c := testserver.StartCluster(t)
	s, err := redis.Open(t.Context(), c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var monitors []*monitor
	for _, node := range c.Nodes {
		monitors = append(monitors, monitored(t, node.Addr, c.Nodes...))
	}
	got := func(t *testing.T) (requests, _ int) {
		for _, m := range monitors {
			n, _ := m.count(t)
			requests += n
		}
		return requests, 0
	}
	sent := &backendtest.Sent{Store: s, Got: got, Most: 257}
	for _, wrong := range sent.Run(t, func(e repo.Event) repo.Event { return e }) { // the control is that of one server
		t.Error(wrong)
	}
}
