package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
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

// nobody returns an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// That the time of a call was over does not hide why it was: nobody listens.
func TestDeadServerIsNamed(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{"", "?cluster=true"} {
		err := backendtest.NamesRefusal(t, 250*time.Millisecond, func(ctx context.Context) error {
			_, err := redis.Open(ctx, "redis://"+nobody(t)+tail)
			return err
		})
		if err != nil {
			t.Errorf("open%s: %v", tail, err)
		}
	}
	p := newProxy(t, testserver.Shared(t, testserver.Redis).Addr)
	s, ts := open(t, "redis://"+p.addr()+"?prefix="+driver.NewToken().String())
	p.stop()
	get := func(ctx context.Context) error {
		return s.Get(ctx, ts.Posts, []driver.Key{backendtest.KeyOf(t, ts.Posts, "ann", "1")}, nil, make([]driver.Row, 1))
	}
	if err := backendtest.NamesRefusal(t, 300*time.Millisecond, get); err != nil {
		t.Errorf("get: %v", err)
	}
	over, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	err := get(over)
	if !errors.Is(err, driver.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("get with a context that is over: %v, want ErrTimeout", err)
	}
}

// A store of Open goes on when its server is back.
func TestServerThatComesBack(t *testing.T) {
	t.Parallel()
	addr := nobody(t)
	opened := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for {
			s, err := redis.Open(ctx, "redis://"+addr)
			if err == nil {
				opened <- s.Close()
				return
			}
			if ctx.Err() != nil {
				opened <- err
				return
			}
		}
	}()
	l, err := net.Listen("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go backendtest.Accept(l, testserver.Shared(t, testserver.Redis).Addr)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// With local=true no other machine is connected to, whoever names it; the control is a
// URL without it.
func TestLocal(t *testing.T) {
	t.Parallel()
	const elsewhere = "192.0.2.1" // of no machine
	for _, url := range []string{"redis://" + elsewhere, "redis://127.0.0.1:1@" + elsewhere, "rediss://user:pw@" + elsewhere, "redis://[2001:db8::1]:6379", "redis://nosuch.invalid",
		"redis://127.0.0.1.nosuch.invalid", "redis://127.0.0.1:1?cluster=true&addr=" + elsewhere + ":6379"} {
		mark := "?"
		if strings.Contains(url, "?") {
			mark = "&"
		}
		if _, err := redis.Open(t.Context(), url+mark+"local=true"); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "not on this machine") {
			t.Errorf("open %s: %v, want ErrInvalid", url, err)
		}
	}
	server := testserver.Shared(t, testserver.Redis).Addr
	s, err := redis.Open(t.Context(), "redis://"+server+"?local=true")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := redis.Open(ctx, "redis://"+elsewhere); errors.Is(err, driver.ErrInvalid) {
		t.Errorf("without local=true: %v", err)
	}
}

// A server of a cluster that tells of others elsewhere leads nowhere with local=true.
func TestLocalCluster(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go tellOfOthers(l)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = redis.Open(ctx, "redis://"+l.Addr().String()+"?cluster=true&local=true")
	if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "not on this machine") {
		t.Errorf("open: %v, want ErrInvalid", err)
	}
}

// tellOfOthers is a server that says that all slots are on another machine.
func tellOfOthers(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			buf := make([]byte, 4096)
			for {
				n, err := c.Read(buf)
				if err != nil {
					return
				}
				text := strings.ToLower(string(buf[:n]))
				answers := ""
				for range strings.Count(text, "hello") {
					answers += "-ERR unknown command\r\n"
				}
				for range strings.Count(text, "setinfo") {
					answers += "+OK\r\n"
				}
				for range strings.Count(text, "slots") {
					answers += "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n192.0.2.1\r\n:6379\r\n$1\r\na\r\n"
				}
				if _, err := c.Write([]byte(answers)); err != nil {
					return
				}
			}
		}()
	}
}

// A password may be in the environment or in a file.
func TestPasswordsElsewhere(t *testing.T) {
	server := testserver.Start(t, testserver.Redis)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr})
	defer client.Close()
	const password = "p:@/?#% ä"
	if err := client.ConfigSet(t.Context(), "requirepass", password).Err(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("POLYSTORE_TEST_PASSWORD", password)
	t.Setenv("POLYSTORE_TEST_EMPTY", "")
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, tt := range []struct{ user, option, want string }{
		{"", "password_env=POLYSTORE_TEST_PASSWORD", ""},
		{"default@", "password_env=POLYSTORE_TEST_PASSWORD", ""},
		{"", "password_file=" + file(password), ""},
		{"", "password_file=" + file(password+"\n"), ""},
		{"default@", "password_file=" + file(password+"\r\n"), ""},
		{"", "password_env=POLYSTORE_TEST_EMPTY", "not set, or empty"},
		{"", "password_env=POLYSTORE_TEST_NOSUCH", "POLYSTORE_TEST_NOSUCH is not set"},
		{"", "password_env=a-b", "name of an environment variable"},
		{"", "password_env=", "name of an environment variable"},
		{"", "password_file=/nosuch", "no such file"},
		{"", "password_file=", "path of a file"},
		{"", "password_file=" + file("\n"), "in one line"},
		{"", "password_file=" + file(password+"\n\n"), "in one line"},
		{"", "password_file=" + t.TempDir(), "is a directory"},
		{":" + "x" + "@", "password_env=POLYSTORE_TEST_PASSWORD", "given twice"},
		{"", "password_env=POLYSTORE_TEST_PASSWORD&password_file=/nosuch", "given twice"},
		{"", "password_file=" + file("wrong"), "user and password that the server knows"},
	} {
		s, err := redis.Open(t.Context(), "redis://"+tt.user+server.Addr+"?"+tt.option)
		if err == nil {
			s.Close()
		}
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), tt.want)) || strings.Contains(fmt.Sprint(err), password) {
			t.Errorf("%s %s: %v, want %q", tt.user, tt.option, err, tt.want)
		}
	}
}

// Nothing is written to standard error. The control is a client of go-redis itself.
func TestNothingIsWrittenToStandardError(t *testing.T) {
	t.Parallel()
	if mode := os.Getenv("POLYSTORE_TEST_LOUD"); mode != "" {
		loud(t, mode)
		return
	}
	guest := clusterOfAGuest(t)
	for mode, quiet := range map[string]bool{"store": true, "cluster": true, "client": false, guest: true} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNothingIsWrittenToStandardError$")
		cmd.Env = append(os.Environ(), "POLYSTORE_TEST_LOUD="+mode)
		var text bytes.Buffer
		cmd.Stderr = &text
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v\n%s", mode, err, &text)
		}
		if quiet != (text.Len() == 0) {
			t.Errorf("%s: quiet should be %v, and is written: %q", mode, quiet, &text)
		}
	}
}

// clusterOfAGuest starts a cluster with a user who may do what the documentation of the package lists
// and nothing else, and returns the URL.
func clusterOfAGuest(t *testing.T) string {
	t.Helper()
	cluster := testserver.StartCluster(t)
	rules := []any{"ACL", "SETUSER", "guest", "on", ">geheim", "~app:*", "+cluster|slots", "+cluster|nodes"}
	for _, command := range listed {
		rules = append(rules, "+"+command)
	}
	for _, node := range cluster.Nodes {
		do(t, raw(t, node.Addr), rules...)
	}
	return strings.Replace(cluster.URL, "redis://", "redis://guest:geheim@", 1) + "&prefix=app"
}

// useCluster does something of all that a store of a cluster does.
func useCluster(t *testing.T, url string) {
	t.Helper()
	s, ts := open(t, url)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1")[:1])
	keys := make([]driver.Key, 20)
	for i := range keys {
		keys[i] = backendtest.KeyOf(t, ts.Posts, fmt.Sprint("ann", i), "1")
	}
	if err := s.Get(t.Context(), ts.Posts, keys, nil, make([]driver.Row, len(keys))); err != nil {
		t.Error(err)
	}
	if err := backendtest.Drain(s.Range(t.Context(), driver.Span{Table: ts.Posts, Key: driver.Key{Partition: keys[0].Partition}})); err != nil {
		t.Error(err)
	}
	if _, err := s.Size(t.Context(), ts.Posts); err != nil {
		t.Error(err)
	}
	if err := s.Drop(t.Context(), ts.All()); err != nil {
		t.Error(err)
	}
}

func loud(t *testing.T, mode string) {
	if strings.Contains(mode, "://") {
		useCluster(t, mode)
		return
	}
	addr := nobody(t)
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	if mode == "client" {
		client := goredis.NewClient(&goredis.Options{Addr: addr, DialerRetries: 1, ContextTimeoutEnabled: true})
		defer client.Close()
		client.Ping(ctx)
		return
	}
	tail := ""
	if mode == "cluster" {
		tail = "?cluster=true"
	}
	if _, err := redis.Open(ctx, "redis://"+addr+tail); err == nil {
		t.Error("opened")
	}
}
