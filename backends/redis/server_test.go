package redis_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// fakeServer answers INFO with a text, as a server would that is not to be had
// here.
func fakeServer(t *testing.T, info string) string {
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
			go answer(c, info)
		}
	}()
	return "redis://" + l.Addr().String()
}

// answer reads the words of requests, each of which takes two lines.
func answer(c net.Conn, info string) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		var words int
		if _, err := fmt.Fscanf(r, "*%d\r\n", &words); err != nil {
			return
		}
		var command string
		for i := range words {
			r.ReadString('\n')
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if i == 0 {
				command = strings.ToLower(strings.TrimSpace(line))
			}
		}
		switch command {
		case "info":
			fmt.Fprintf(c, "$%d\r\n%s\r\n", len(info), info)
		case "config":
			fmt.Fprint(c, "*2\r\n$11\r\nappendfsync\r\n$6\r\nalways\r\n")
		case "hello":
			fmt.Fprint(c, "-ERR unknown command 'HELLO'\r\n")
		default:
			fmt.Fprint(c, "+OK\r\n")
		}
	}
}

const goodInfo = "redis_version:7.2.4\r\nredis_mode:standalone\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\nrole:master\r\ncluster_enabled:0\r\n"

// A server that cannot keep the contract is refused with what to do about it.
func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		old, new string
		kind     error
		want     string
	}{
		{"7.2.4", "6.2.14", driver.ErrUnsupported, "upgrade it to 7.0"},
		{"redis_version:7.2.4", "other:1", driver.ErrUnsupported, "not say that it is Redis"},
		{"standalone", "sentinel", driver.ErrUnsupported, "sentinel mode"},
		{"standalone", "cluster", driver.ErrUnsupported, "cluster=true"},
		{"role:master", "role:slave\r\nmaster_host:10.0.0.9\r\nmaster_port:6380", driver.ErrUnavailable, "10.0.0.9:6380"},
		{"noeviction", "allkeys-lru", driver.ErrUnsupported, "set it to noeviction"},
	} {
		s, err := redis.Open(t.Context(), fakeServer(t, strings.Replace(goodInfo, tt.old, tt.new, 1)))
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %v with %q", tt.new, err, tt.kind, tt.want)
		}
	}
}

// What a commit survives is what the server is configured to.
func TestDurabilities(t *testing.T) {
	t.Parallel()
	s, err := redis.Open(t.Context(), fakeServer(t, goodInfo))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if f := s.Facts(); f.Durability != driver.Power || f.Delay != 0 || f.Setting != "appendfsync always" || f.Version != "7.2.4" {
		t.Errorf("facts %+v, want those of appendfsync always", f)
	}
	_, s, _ = own(t)
	if f := s.Facts(); f.Durability != driver.Delayed || f.Delay != 2*time.Second || f.Setting != "appendfsync everysec" || !f.Uncertain || f.Scope != driver.ScopeStore {
		t.Errorf("facts %+v, want those of appendfsync everysec", f)
	}
	_, s, _ = own(t, "--appendonly", "no")
	if f := s.Facts(); f.Durability != driver.Memory || f.Setting != "appendonly no" {
		t.Errorf("facts %+v, want those of appendonly no", f)
	}
}

// refusedBy opens a store and returns the error.
func refusedBy(t *testing.T, url string) error {
	t.Helper()
	s, err := redis.Open(t.Context(), url)
	return backendtest.Refused(t, s, err)
}

func TestUsersAndDatabases(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Redis)
	if err := refusedBy(t, "redis://"+server.Addr+"/99"); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a database that is not there: %v, want ErrInvalid", err)
	}
	admin := raw(t, server.Addr)
	do(t, admin, "ACL", "SETUSER", "reader", "on", ">geheim2", "~*", "+@read", "+info", "-config")
	do(t, admin, "ACL", "SETUSER", "blind", "on", ">geheim3", "~*", "+@read", "-info")
	do(t, admin, "ACL", "SETUSER", "writer", "on", ">geheim4", "~app:*", "+@read", "+@write", "+@scripting", "+info", "+type")
	do(t, admin, "ACL", "SETUSER", "default", "on", "resetpass", ">geheim1")
	for what, url := range map[string]string{
		"no password":            "redis://" + server.Addr,
		"a wrong password":       "redis://:geheim@" + server.Addr,
		"an unknown user":        "redis://nobody:geheim@" + server.Addr,
		"a user without INFO":    "redis://blind:geheim3@" + server.Addr,
		"another one's password": "redis://reader:geheim1@" + server.Addr,
	} {
		if err := refusedBy(t, url); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	reader, err := redis.Open(t.Context(), "redis://reader:geheim2@"+server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if f := reader.Facts(); f.Durability != driver.Delayed || f.Setting != "appendfsync unknown" {
		t.Errorf("facts without CONFIG: %+v", f)
	}
	if err := reader.Define(t.Context(), backendtest.NewTables().All()); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("define by a user who may not: %v, want ErrInvalid", err)
	}
	s, ts := open(t, "redis://writer:geheim4@"+server.Addr+"?prefix=app")
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	if err := s.Drop(t.Context(), ts.All()); err != nil {
		t.Error(err)
	}
	if n := do(t, raw2(t, server.Addr, "geheim1"), "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys are left after Drop", n)
	}
}

// A replica is refused, and a server that becomes one refuses commits; nothing is
// done.
func TestReplicas(t *testing.T) {
	t.Parallel()
	primary, s, ts := own(t)
	host, port, _ := net.SplitHostPort(primary.Addr)
	replica := testserver.Start(t, testserver.Redis, "--replicaof", host+" "+port)
	if err := refusedBy(t, replica.URL); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), primary.Addr) {
		t.Errorf("a replica: %v, want ErrUnavailable that names %s", err, primary.Addr)
	}
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	host, port, _ = net.SplitHostPort(replica.Addr)
	do(t, raw(t, primary.Addr), "REPLICAOF", host, port)
	_, err := s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "1"))
	if !errors.Is(err, driver.ErrUnavailable) || errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("a commit on what became a replica: %v, want ErrUnavailable", err)
	}
	do(t, raw(t, primary.Addr), "REPLICAOF", "NO", "ONE")
	backendtest.MustCommit(t, s, ts.Add(t, "ann", "1"))
	if n := ts.Views(t, s, "ann", "1"); n != 2 {
		t.Errorf("%d views, want 2", n)
	}
}

// A full server refuses commits as a whole, and takes them again when there is
// room.
func TestFullServer(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	admin := raw(t, server.Addr)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "first"))
	do(t, admin, "CONFIG", "SET", "maxmemory", 4<<20)
	var ids []string
	done, full := 0, 0 // full counts refusals in a row: memory goes up and down, so one may be done after some
	for i := 0; full < 20 && i < 5000; i++ {
		ops := ts.Insert(t, "ann", fmt.Sprint(i))
		ops[0].Row.Fields[backendtest.FieldTitle] = driver.StringValue(strings.Repeat("x", 8000))
		refusal, err := s.Commit(t.Context(), driver.NewToken(), ops)
		switch {
		case errors.Is(err, driver.ErrFull):
			full++
		case err != nil || refusal != nil:
			t.Fatalf("commit %d: %v, %v", i, refusal, err)
		default:
			done, full = done+1, 0
		}
		ids = append(ids, fmt.Sprint(i))
	}
	if full == 0 || done < 10 {
		t.Fatalf("%d commits were refused and %d done", full, done)
	}
	want := fmt.Sprintf("%d posts, %d counted, %d rows, %d slugs", done, done+1, done, done)
	if got := ts.Numbers(t, s, "ann", ids); got != want {
		t.Errorf("after %d commits that a full server refused: %s; want %s", full, got, want)
	}
	do(t, admin, "CONFIG", "SET", "maxmemory", 1) // some bytes were left
	if _, err := s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "first")); !errors.Is(err, driver.ErrFull) {
		t.Errorf("a patch on a full server: %v, want ErrFull", err)
	}
	rows := make([]driver.Row, 1)
	key := backendtest.KeyOf(t, ts.Posts, "ann", ids[0])
	if err := s.Get(t.Context(), ts.Posts, []driver.Key{key}, nil, rows); err != nil {
		t.Fatal(err)
	}
	backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Put, Table: ts.Posts, If: driver.AtRev, Rev: rows[0].Rev,
		Row: driver.Row{Key: key, Ring: rows[0].Ring, Dead: true, Expires: 1 << 50}}}) // gives memory back
	do(t, admin, "CONFIG", "SET", "maxmemory", 0)
	backendtest.MustCommit(t, s, ts.Add(t, "ann", "first"))
	if n := ts.Views(t, s, "ann", "first"); n != 2 {
		t.Errorf("%d views, want 2", n)
	}
}

// Scripts that the server forgets are sent again.
func TestForgottenScripts(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	admin := raw(t, server.Addr)
	for i := range 10 {
		do(t, admin, "SCRIPT", "FLUSH")
		backendtest.MustCommit(t, s, ts.Insert(t, "ann", fmt.Sprint(i)))
		do(t, admin, "SCRIPT", "FLUSH")
		backendtest.MustCommit(t, s, ts.Add(t, "ann", fmt.Sprint(i)))
		do(t, admin, "SCRIPT", "FLUSH")
		backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Check, Table: ts.Posts, If: driver.Present, Row: driver.Row{Key: backendtest.KeyOf(t, ts.Posts, "ann", fmt.Sprint(i))}}})
		if n := ts.Views(t, s, "ann", fmt.Sprint(i)); n != 2 {
			t.Errorf("%d views, want 2", n)
		}
	}
}

// A server that runs another one's script answers BUSY: nothing was done.
func TestBusyServer(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t, "--busy-reply-threshold", "50")
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	busy := raw(t, server.Addr)
	done := make(chan error, 1)
	go func() { done <- busy.Eval(context.WithoutCancel(t.Context()), "while true do end", nil).Err() }()
	err := error(nil)
	for begun := time.Now(); err == nil && time.Since(begun) < 5*time.Second; {
		time.Sleep(60 * time.Millisecond)
		_, err = s.Commit(t.Context(), driver.NewToken(), ts.Add(t, "ann", "1"))
	}
	if !errors.Is(err, driver.ErrUnavailable) || errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("commit to a busy server: %v, want ErrUnavailable", err)
	}
	before := time.Now()
	do(t, raw(t, server.Addr), "SCRIPT", "KILL")
	<-done
	if time.Since(before) > 5*time.Second {
		t.Error("the script of the test was not ended")
	}
}
