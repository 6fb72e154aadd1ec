package cassandra_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A party is clients that speak to some nodes of a ring only.
type party struct {
	session *gocql.Session
	events  *repo.Repo[event]
}

func newParty(t *testing.T, ring *testserver.Ring, keyspace string, nodes ...int) *party {
	t.Helper()
	c := clusterOf(t, ring.Nodes[nodes[0]].URL, keyspace)
	cassandra.Tune(c)
	var hosts []string
	for _, n := range nodes {
		host, _, err := net.SplitHostPort(ring.Nodes[n].Addr)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, host)
	}
	c.Hosts, c.HostFilter = hosts, gocql.WhiteListHostFilter(hosts...)
	session, err := c.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { go session.Close() }) // where a node stood still it can wait for ever
	s, err := cassandra.New(t.Context(), session, &cassandra.Options{Keyspace: keyspace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	events, err := repo.Open[event](t.Context(), repo.NewStore(s, nil), eventSchema("native"))
	if err != nil {
		t.Fatal(err)
	}
	return &party{session, events}
}

// insist does what a ring with a node that stands still may not answer in time, until it is
// done. What was done before and not acknowledged is as good.
func insist(t *testing.T, do func() error) {
	t.Helper()
	for begun, again := time.Now(), false; ; again = true {
		err := do()
		switch {
		case err == nil, again && errors.Is(err, repo.ErrExists):
			return
		case time.Since(begun) > time.Minute || !errors.Is(err, repo.ErrUnknownOutcome) && !errors.Is(err, repo.ErrUnavailable) && !errors.Is(err, repo.ErrTimeout):
			t.Error(err)
			return
		}
	}
}

// hostsOf returns partitions, whose first replicas are not all one node.
func hostsOf(try int) (list []string) {
	for i := range 8 {
		list = append(list, fmt.Sprintf("try%d-%d", try, i))
	}
	return list
}

// each does the same for all hosts at once.
func each(hosts []string, do func(host string)) {
	var all sync.WaitGroup
	for _, h := range hosts {
		all.Go(func() { do(h) })
	}
	all.Wait()
}

// without does something while a node stands still, and for so long that what was sent to
// it meanwhile is too old for it when it goes on.
func without(t *testing.T, node *testserver.Server, do func()) {
	t.Helper()
	node.Pause(t)
	do()
	time.Sleep(4 * time.Second) // the servers of the ring take three for too long
	node.Resume(t)
}

// Native indexes find all that was acknowledged where every replica lacks something of it:
// records, changes of one indexed field or of the other, and deletes. With reads at ONE, the
// control, something is missing or still there.
func replicasThatDiffer(t *testing.T, ring *testserver.Ring, keyspace string) {
	first, second, third := newParty(t, ring, keyspace, 0, 1), newParty(t, ring, keyspace, 0, 2), newParty(t, ring, keyspace, 1, 2)
	for try := range 3 {
		hosts, ctx := hostsOf(try), t.Context()
		insert := func(p *party, host string, id int64, level string) {
			insist(t, func() error { return p.events.Insert(ctx, &event{Host: host, ID: id, Level: level, Code: 1}) })
		}
		patch := func(p *party, host string, id int64, edit repo.Edit) {
			insist(t, func() error { _, err := p.events.Patch(ctx, repo.Key{host, id}, edit); return err })
		}
		each(hosts, func(host string) {
			for id := range int64(3) {
				insert(first, host, id, "info")
			}
		})
		without(t, ring.Nodes[2], func() {
			each(hosts, func(host string) {
				insert(first, host, 3, "error")
				patch(first, host, 0, repo.Set("level", "error"))
				insist(t, func() error { return first.events.Delete(ctx, repo.Key{host, int64(1)}) })
				insert(first, host, 9, "warn") // of what came last every node is told by the next commit
			})
		})
		without(t, ring.Nodes[1], func() {
			each(hosts, func(host string) {
				insert(second, host, 4, "error")
				patch(second, host, 2, repo.Set("level", "error"))
				patch(second, host, 3, repo.Set("code", 7))
			})
		})
		ring.Nodes[0].Pause(t)
		wrong := third.careless(t, hosts) // before the others, which mend what they find
		each(hosts, func(host string) { third.sees(t, host) })
		ring.Nodes[0].Resume(t)
		if t.Logf("try %d: of %d reads at ONE %d were wrong", try, len(hosts), wrong); wrong > 0 || t.Failed() {
			return
		}
	}
	t.Error("reads at ONE were right three times: the replicas did not differ, and the test shows nothing")
}

// sees looks for the events of a host by its indexes.
func (p *party) sees(t *testing.T, host string) {
	level := func(name string) repo.Query { return repo.Where("host", host).Where("level", name) }
	for _, tt := range []struct {
		q    repo.Query
		want []int64
	}{
		{level("error"), []int64{4, 3, 2, 0}},
		{level("error").Order("id"), []int64{0, 2, 3, 4}},
		{level("info"), nil},
		{level("error").Where("code", 7), []int64{3}},
		{level("error").Where("code", 1), []int64{4, 2, 0}},
	} {
		var got []int64
		insist(t, func() error {
			list, err := repo.Collect(p.events.Find(t.Context(), tt.q))
			got = nil
			for _, e := range list {
				got = append(got, e.ID)
			}
			return err
		})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s, %v: %v, want %v", host, tt.q, got, tt.want)
		}
	}
}

// careless reads the errors of each host from one replica, and returns how often they
// were not all, or not those.
func (p *party) careless(t *testing.T, hosts []string) (wrong int) {
	t.Helper()
	want := []string{sortOf(t, 4), sortOf(t, 3), sortOf(t, 2), sortOf(t, 0)}
	for _, host := range hosts {
		var got []string
		iter := p.session.Query(`SELECT "_sort" FROM events WHERE host = ? AND level = 'error'`, host).Consistency(gocql.One).IterContext(t.Context())
		for text := ""; iter.Scan(&text); {
			got = append(got, text)
		}
		if err := iter.Close(); err != nil {
			t.Logf("%s at ONE: %v", host, err) // the node that stands still was asked
			continue
		}
		if !slices.Equal(got, want) {
			wrong++
		}
	}
	return wrong
}

// core are rules of records, conditions, indexes, unique values and outcomes.
const core = "records and fields/undeclared fields,records and fields/put whole," +
	"conditions/replace,conditions/put,conditions/delete,conditions/update with,conditions/patch if,conditions/absent,conditions/at rev,conditions/first refused,conditions/none after,conditions/rows with," +
	"index tables/inserted,index tables/moved,index tables/deleted,index tables/elements move," +
	"unique/taken,unique/nothing of it,unique/freed,unique/own value,outcomes/sent again,outcomes/resolve"

// suiteOn sees that the rules of core hold on a ring that has lost a node.
func suiteOn(t *testing.T, url string) {
	report := backendtest.Rules(t, func(ctx context.Context) (driver.Store, error) { return cassandra.Open(ctx, url) },
		conformance.Options{Only: core, Ops: -1, Histories: -1})
	// The client ends only when the node that is dead has been given up, which Close says.
	others := slices.DeleteFunc(report.Problems, func(p string) bool { return strings.Contains(p, "still trying to reach a server") })
	if len(others) > 0 || report.Passed < 20 {
		t.Errorf("%s; problems: %q", report.Summary(), others)
	}
	t.Log(report.Summary())
}
