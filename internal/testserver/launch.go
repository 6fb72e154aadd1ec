package testserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/ory/dockertest/v3"
)

// attempts bounds how often a server is started anew because its address was taken meanwhile.
const attempts = 4

// A launcher starts servers.
type launcher struct {
	script string                                         // scripts/servers
	choose func(host string) (hostPort string, err error) // a free address
}

// newLauncher finds scripts/servers above the working directory, which in a test is the folder
// of the package.
func newLauncher() (launcher, error) {
	dir, err := os.Getwd()
	if err != nil {
		return launcher{}, fmt.Errorf("testserver: %w", err)
	}
	for {
		script := filepath.Join(dir, "scripts", "servers")
		if _, err := os.Stat(script); err == nil {
			return launcher{script: script, choose: freeAddress}, nil
		}
		if dir == filepath.Dir(dir) {
			return launcher{}, errors.New("testserver: no scripts/servers above the working directory: run the tests inside the repository")
		}
		dir = filepath.Dir(dir)
	}
}

// open returns the server that the store's variable names, or starts one.
func (l launcher) open(ctx context.Context, store Store) (*Server, error) {
	if url := os.Getenv(store.kind().variable); url != "" {
		return named(ctx, store, url)
	}
	return l.launch(ctx, store.kind(), store.kind().shared)
}

// launch starts a server, in a container if an engine answers, else natively.
func (l launcher) launch(ctx context.Context, k kind, args []string) (*Server, error) {
	pool := engine(ctx)
	host := func() string { return "127.0.0.1" }
	if pool == nil {
		host = loopback
	}
	return l.tries(func() (*Server, error) {
		return l.attempt(ctx, pool, k, host(), func(string) []string { return args })
	})
}

// tries starts a server at another address if the first was taken meanwhile.
func (l launcher) tries(attempt func() (*Server, error)) (*Server, error) {
	for n := 1; ; n++ {
		s, err := attempt()
		if err == nil || n == attempts || !addressTaken(err) {
			return s, err
		}
	}
}

// attempt starts a server on a host, with arguments that may depend on its address.
func (l launcher) attempt(ctx context.Context, pool *dockertest.Pool, k kind, host string, more func(addr string) []string) (*Server, error) {
	addr, err := l.choose(host)
	if err != nil {
		return nil, fmt.Errorf("testserver: start %s: no free port: %w", k.store, err)
	}
	g, err := newGuard(l.script, k.store)
	if err != nil {
		return nil, fmt.Errorf("testserver: start %s: guard: %w", k.store, err)
	}
	s := &Server{Store: k.store, Addr: addr, URL: k.scheme + "://" + addr + k.path, kind: k, guard: g}
	args := append(k.args, more(addr)...)
	if pool == nil {
		s.process = &native{script: l.script, store: k.store, addr: addr, args: args, guard: g}
	} else {
		s.process = &container{pool: pool, kind: k, addr: addr, args: args, guard: g}
	}
	if err := s.up(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// taken matches what Redis, MongoDB, Java, Cassandra and Docker say of an address that another server has.
var taken = regexp.MustCompile(`(?i)address (already )?in use|in use by another process|port is already allocated`)

func addressTaken(err error) bool { return taken.MatchString(err.Error()) }

// loopback returns a random one of the 16 million loopback addresses that Linux has, so that two
// runs rarely have one in common, and fixed ports beside the client's are free on it.
func loopback() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

// freeAddress returns a port that is free on the host and whose successor is free too:
// Cassandra takes it for its other nodes, and so does a Redis Cluster.
func freeAddress(host string) (string, error) {
	for {
		l, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
		if err != nil {
			return "", err
		}
		port := l.Addr().(*net.TCPAddr).Port
		next, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(port+1)))
		l.Close()
		if err == nil {
			next.Close()
			return l.Addr().String(), nil
		}
	}
}
