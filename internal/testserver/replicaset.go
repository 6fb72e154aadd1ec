package testserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
)

// A ReplicaSet is three MongoDB servers, as native processes.
type ReplicaSet struct {
	URL   string // of all three
	Nodes []*Server
}

// StartReplicaSet starts a replica set of three for this test alone, whose servers the test may
// pause, kill and restart. It is removed at the end of the test. Args go to every server after
// those that each gets.
func StartReplicaSet(t testing.TB, args ...string) *ReplicaSet {
	t.Helper()
	return own(t, func(l launcher) (*ReplicaSet, error) { return l.replicaSet(t.Context(), args) })
}

// replicaSet starts three servers and makes them one set.
func (l launcher) replicaSet(ctx context.Context, args []string) (*ReplicaSet, error) {
	r := &ReplicaSet{Nodes: make([]*Server, 3)}
	host := loopback()
	errs := make([]error, len(r.Nodes))
	var wg sync.WaitGroup
	for i := range r.Nodes {
		wg.Go(func() {
			r.Nodes[i], errs[i] = l.tries(func() (*Server, error) {
				return l.attempt(ctx, nil, memberKind(), host, func(string) []string { return args })
			})
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err == nil {
		err = r.unite(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// unite makes the servers a replica set and returns when it has a primary.
func (r *ReplicaSet) unite(ctx context.Context) error {
	var addrs []string
	for _, s := range r.Nodes {
		addrs = append(addrs, s.Addr)
	}
	r.URL = "mongodb://" + strings.Join(addrs, ",") + "/?replicaSet=rs0"
	err := withMongo(r.Nodes[0].URL, func(db *mongodriver.Database) error { return db.RunCommand(ctx, initiate(addrs...)).Err() })
	if err != nil {
		return fmt.Errorf("testserver: a replica set of mongo: %w; the end of a log:\n%s", err, r.Nodes[0].process.tail())
	}
	_, err = r.AwaitWhole(ctx)
	return err
}

// AwaitWhole returns when one server is the primary and both others are secondaries, and
// which one it is.
func (r *ReplicaSet) AwaitWhole(ctx context.Context) (primary int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var roles []string
		for _, s := range r.Nodes {
			roles = append(roles, s.role(ctx))
		}
		primary = slices.Index(roles, "primary")
		if slices.Sort(roles); slices.Equal(roles, []string{"primary", "secondary", "secondary"}) {
			return primary, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("testserver: a replica set of mongo: the servers are %q", roles)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// role returns what a server of MongoDB says that it is in its set.
func (s *Server) role(ctx context.Context) string {
	var h hello
	err := withMongo(s.URL, func(db *mongodriver.Database) error { return db.RunCommand(ctx, helloCommand).Decode(&h) })
	switch {
	case err != nil:
		return err.Error()
	case h.Primary:
		return "primary"
	case h.Secondary:
		return "secondary"
	}
	return "neither"
}

// close kills the servers and removes what they left.
func (r *ReplicaSet) close() error {
	var errs []error
	for _, s := range r.Nodes {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}
