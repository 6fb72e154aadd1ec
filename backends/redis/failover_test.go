package redis_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
)

// A post is what writers of letters were told, by author: their letters have the same
// id, each author is a partition, and the partitions are on all masters.
type post struct {
	mu      sync.Mutex
	acked   map[string]time.Time
	unknown map[string]bool
	stop    chan struct{}
	writers sync.WaitGroup
}

// begin starts writers, which go on when a server is gone.
func begin(t *testing.T, r *repo.Repo[letter], name string) *post {
	t.Helper()
	p := &post{acked: map[string]time.Time{}, unknown: map[string]bool{}, stop: make(chan struct{})}
	for w := range 4 {
		p.writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-p.stop:
					return
				default:
				}
				author := fmt.Sprintf("%s-%d-%d", name, w, n)
				err := r.Insert(t.Context(), &letter{Author: author, ID: "1", Tag: "x"})
				p.mu.Lock()
				switch {
				case err == nil:
					p.acked[author] = time.Now()
				case errors.Is(err, repo.ErrUnknownOutcome):
					p.unknown[author] = true
				}
				p.mu.Unlock()
				if err != nil {
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	}
	return p
}

// end stops the writers and returns which acknowledged letters are lost. It fails if one
// is there that nobody wrote.
func (p *post) end(t *testing.T, r *repo.Repo[letter]) (lost []string) {
	t.Helper()
	close(p.stop)
	p.writers.Wait()
	there := map[string]bool{}
	for chunk, err := range r.Walk(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range chunk.Items {
			there[l.Author] = true
			if _, ok := p.acked[l.Author]; !ok && !p.unknown[l.Author] {
				t.Errorf("%s is there and nobody wrote it", l.Author)
			}
		}
	}
	for author := range p.acked {
		if !there[author] {
			lost = append(lost, author)
		}
	}
	if len(p.acked) < 50 {
		t.Errorf("%d letters were acknowledged: too few to tell", len(p.acked))
	}
	t.Logf("%d acknowledged, %d unknown, %d lost", len(p.acked), len(p.unknown), len(lost))
	return lost
}

// served waits until a partition of each master takes writes again, and returns how long that took.
func served(t *testing.T, r *repo.Repo[letter], name string) time.Duration {
	t.Helper()
	begun := time.Now()
	for i := 0; i < 9; {
		err := r.Put(t.Context(), &letter{Author: fmt.Sprint(name, i), ID: "1", Tag: "x"})
		switch {
		case err == nil || errors.Is(err, repo.ErrUnknownOutcome):
			i++
		case time.Since(begun) > 30*time.Second:
			t.Fatalf("after %s: %v", time.Since(begun), err)
		default:
			time.Sleep(20 * time.Millisecond)
		}
	}
	return time.Since(begun)
}

// A master that is killed in mid-write and started again before it is replaced has lost
// nothing that it acknowledged with appendfsync always.
func TestClusterMasterKilledAndRestarted(t *testing.T) {
	t.Parallel()
	c := testserver.StartCluster(t, "--appendfsync", "always", "--cluster-replica-no-failover", "yes")
	r := letters(t, inCluster(t, c, ""))
	p := begin(t, r, "k")
	time.Sleep(500 * time.Millisecond)
	c.Nodes[0].Kill9(t)
	time.Sleep(200 * time.Millisecond)
	c.Nodes[0].Restart(t)
	p.forgive("again", 9)
	served(t, r, "again")
	if lost := p.end(t, r); len(lost) > 0 {
		t.Errorf("%d acknowledged letters are lost", len(lost))
	}
	inStep(t, r, -1)
}

// forgive takes letters that others than the writers wrote.
func (p *post) forgive(name string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range n {
		p.unknown[fmt.Sprint(name, i)] = true
	}
}

// The control: a commit that waits for no replica is lost with its master when the
// replica that takes its place did not get it, and the test sees it.
func TestFailoverLosesWithoutMinReplicas(t *testing.T) {
	t.Parallel()
	for try := 1; ; try++ {
		lost := failOver(t, "")
		if lost > 0 {
			t.Logf("seen at try %d", try)
			return
		}
		if try == 10 {
			t.Fatal("no acknowledged letter was lost in 10 failovers: the other test shows nothing")
		}
	}
}

// What was acknowledged when a replica had it survives the master, also where the link
// to the replica broke before; the indexes are in step.
func TestFailoverWithMinReplicas(t *testing.T) {
	t.Parallel()
	if lost := failOver(t, "&min_replicas=1&read_timeout=500ms"); lost > 0 {
		t.Errorf("%d acknowledged letters are lost", lost)
	}
}

// failOver writes to a cluster, breaks the link between a master and its replica, kills
// the master a little later and counts what is lost when the replica has its place.
func failOver(t *testing.T, options string) int {
	t.Helper()
	c := testserver.StartCluster(t, testserver.FailsOver...)
	r := letters(t, inCluster(t, c, options))
	p := begin(t, r, "f")
	time.Sleep(400 * time.Millisecond)
	stall(t, c.Nodes[0], c.Nodes[3])
	time.Sleep(300 * time.Millisecond)
	c.Nodes[0].Kill9(t)
	p.forgive("after", 9)
	took := served(t, r, "after")
	t.Logf("all masters take writes again %.1f s after one was killed", took.Seconds())
	lost := p.end(t, r)
	inStep(t, r, -1)
	return len(lost)
}
