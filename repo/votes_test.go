package repo_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repotest"
)

type topic struct {
	ID    string `repo:"id"`
	Votes int64  `repo:"votes"`
}

// openTopic returns a repository with a topic, on a store whose calls take a millisecond and which
// loses three of ten commits: their answer, or all of them.
func openTopic(t *testing.T) *repo.Repo[topic] {
	t.Helper()
	store, err := repotest.New(memory.New(nil), &repotest.Options{Uncertain: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := repo.Open[topic](t.Context(), repo.NewStore(store, nil), repo.Schema{Collection: "topics", Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Insert(t.Context(), &topic{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	err = store.Set(
		repotest.Rule{Delay: time.Millisecond, Jitter: 200 * time.Microsecond},
		repotest.Rule{On: repotest.Commit, Table: "topics", Share: 0.15, Fault: repotest.LostAnswer},
		repotest.Rule{On: repotest.Commit, Table: "topics", Share: 0.15, Fault: repotest.LostCall},
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ballot counts what became of votes.
type ballot struct {
	mu     sync.Mutex
	counts map[repo.Verdict]int64
}

// vote counts one on the topic, and notes what became of it.
func (b *ballot) vote(t *testing.T, r *repo.Repo[topic]) {
	verdict := repo.Committed
	if _, err := r.Patch(t.Context(), repo.Key{"a"}, repo.Add("votes", 1)); err != nil {
		e, ok := errors.AsType[*repo.Error](err)
		if !ok || e.Outcome == nil {
			t.Error(err)
			return
		}
		if verdict, err = r.Resolve(t.Context(), e.Outcome); err != nil {
			t.Error(err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[verdict]++
}

// A vote whose answer is lost, or that is lost itself, is settled, however many others vote at the same
// time in this program: they wait until it is known.
func TestVotesAreSettled(t *testing.T) {
	for _, writers := range []int{1, 8, 64} {
		synctest.Test(t, func(t *testing.T) {
			const votes = 640
			r, b := openTopic(t), ballot{counts: map[repo.Verdict]int64{}}
			var all sync.WaitGroup
			for range writers {
				all.Go(func() {
					for range votes / writers {
						b.vote(t, r)
					}
				})
			}
			all.Wait()
			got, err := r.Get(t.Context(), repo.Key{"a"})
			if err != nil || got.Votes != b.counts[repo.Committed] || b.counts[repo.Unknown] > 0 {
				t.Errorf("%d writers: %d votes, %v; of %d they were told %v", writers, got.Votes, err, votes, b.counts)
			}
		})
	}
}
