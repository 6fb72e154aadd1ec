package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A letter is written while the primary of a replica set is killed.
type letter struct {
	ID   string `repo:"id"`
	Tag  string `repo:"tag"`
	Slug string `repo:"slug"`
}

// A letterbox is what writers of letters were told.
type letterbox struct {
	*repo.Repo[letter]
	kind    string
	mu      sync.Mutex
	acked   []string
	refused []string // nothing can have been done
	unknown map[string]*repo.Outcome
}

// newLetterbox opens a collection whose indexes are of a kind.
func newLetterbox(t *testing.T, s *repo.Store, kind string) *letterbox {
	t.Helper()
	r, err := repo.Open[letter](t.Context(), s, repo.Schema{Collection: "letters_" + kind, Partition: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"tag"}, Sort: []string{"id"}, Kind: kind}, {Partition: []string{"slug"}, Unique: true, Kind: kind}}})
	if err != nil {
		t.Fatal(err)
	}
	return &letterbox{Repo: r, kind: kind, unknown: map[string]*repo.Outcome{}}
}

// patience is how long a call waits in these tests: less than an election takes.
const patience = time.Second

// write inserts letters until the context ends, whatever becomes of them.
func (b *letterbox) write(ctx context.Context, t *testing.T, writer int) {
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("%d-%06d", writer, n)
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		err := b.Insert(one, &letter{ID: id, Tag: "x", Slug: "s" + id})
		cancel()
		var e *repo.Error
		b.mu.Lock()
		switch {
		case err == nil:
			b.acked = append(b.acked, id)
		case errors.Is(err, repo.ErrUnknownOutcome) && errors.As(err, &e):
			b.unknown[id] = e.Outcome
		case errors.Is(err, repo.ErrUnavailable) || errors.Is(err, repo.ErrTimeout):
			b.refused = append(b.refused, id)
		default:
			t.Errorf("insert: %v, want it done, or an error of a server that is gone", err)
		}
		b.mu.Unlock()
	}
}

// read looks for the last letter that was acknowledged, by its slug, until the context
// ends. It returns how often it was found, and the longest time between.
func (b *letterbox) read(ctx context.Context, t *testing.T) (found int, gap time.Duration) {
	for last := time.Now(); ctx.Err() == nil; {
		b.mu.Lock()
		n := len(b.acked)
		id := "none"
		if n > 0 {
			id = b.acked[n-1]
		}
		b.mu.Unlock()
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		got, err := b.One(one, repo.Where("slug", "s"+id))
		cancel()
		switch {
		case err == nil && got.ID == id:
			found, gap, last = found+1, max(gap, time.Since(last)), time.Now()
		case n == 0 && errors.Is(err, repo.ErrNotFound), errors.Is(err, repo.ErrUnavailable), errors.Is(err, repo.ErrTimeout):
		default:
			t.Errorf("the letter %s, which was acknowledged, reads as %+v, %v", id, got, err)
		}
	}
	return found, gap
}

// grows waits until n more letters were acknowledged, and returns how long that took.
func (b *letterbox) grows(t *testing.T, n int) time.Duration {
	t.Helper()
	count := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.acked)
	}
	begun := time.Now()
	for least := count() + n; count() < least; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			t.Fatalf("%d letters were acknowledged in %s, want %d more", count(), time.Since(begun), n)
		}
	}
	return time.Since(begun)
}

// settle sees that what was acknowledged is there, what was refused is not, what is
// unknown can be resolved and is as it was resolved, and that the indexes are in step.
func (b *letterbox) settle(t *testing.T) {
	t.Helper()
	verdicts := map[string]repo.Verdict{}
	for id, o := range b.unknown {
		v, err := b.Resolve(t.Context(), o)
		if err != nil || v != repo.Committed && v != repo.NotCommitted {
			t.Errorf("resolve %s: %v, %v", id, v, err)
		}
		verdicts[id] = v
	}
	there := map[string]bool{}
	for l, err := range b.Find(t.Context(), repo.Where("tag", "x")) {
		if err != nil {
			t.Fatal(err)
		}
		there[l.ID] = true
	}
	lost := slices.DeleteFunc(slices.Clone(b.acked), func(id string) bool { return there[id] })
	done := slices.DeleteFunc(slices.Clone(b.refused), func(id string) bool { return !there[id] })
	if len(lost) > 0 || len(done) > 0 {
		t.Errorf("of %d acknowledged letters are lost: %q; of %d refused ones are there: %q", len(b.acked), lost, len(b.refused), done)
	}
	for id, v := range verdicts {
		if there[id] != (v == repo.Committed) {
			t.Errorf("%s was resolved as %v, and is there: %v", id, v, there[id])
		}
	}
	if most := len(b.acked) + len(b.unknown); len(there) > most {
		t.Errorf("%d letters are there, and at most %d were written", len(there), most)
	}
	reports, err := b.Verify(t.Context())
	if err != nil || len(reports) != 2 {
		t.Errorf("verify: %d reports, %v", len(reports), err)
	}
	for _, rep := range reports {
		if !rep.Clean() || rep.Records != len(there) {
			t.Errorf("verify: %+v, want %d records in step", rep, len(there))
		}
	}
	t.Logf("%s: %d acknowledged, %d refused, %d unknown, none lost", b.kind, len(b.acked), len(b.refused), len(b.unknown))
}

// Four writers go on when the primary of three servers is killed under them, and nothing
// that was acknowledged is lost, also when it comes back.
func TestFailover(t *testing.T) {
	t.Parallel()
	set := testserver.StartReplicaSet(t, "--setParameter", "enableTestCommands=1")
	s, ts := open(t, with(set.URL, "heartbeatFrequencyMS=500"))
	if f := s.Facts(); f.Durability != driver.Node || f.Setting != "w majority, j true" {
		t.Errorf("facts: %+v", f)
	}
	all := repo.NewStore(s, nil)
	boxes := []*letterbox{newLetterbox(t, all, "native"), newLetterbox(t, all, "table")}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var busy sync.WaitGroup
	for i, b := range boxes {
		busy.Go(func() { b.write(ctx, t, i) })
		busy.Go(func() { b.write(ctx, t, i+2) })
		busy.Go(func() {
			found, gap := b.read(ctx, t)
			t.Logf("%d reads, %.1f s without any", found, gap.Seconds())
			if found < 100 {
				t.Errorf("%d reads: too few to tell", found)
			}
		})
		b.grows(t, 50)
	}
	primary, err := set.AwaitWhole(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set.Nodes[primary].Kill9(t)
	t.Logf("%.1f s until the next primary has acknowledged writes", (boxes[0].grows(t, 50) + boxes[1].grows(t, 50)).Seconds())
	set.Nodes[primary].Restart(t)
	if _, err := set.AwaitWhole(t.Context()); err != nil {
		t.Fatal(err)
	}
	boxes[0].grows(t, 50)
	end()
	busy.Wait()
	for _, b := range boxes {
		b.settle(t)
	}
	losesWithoutMajority(t, set, s, ts)
}

// losesWithoutMajority is the control: what one server acknowledges while the others get
// nothing from it is lost with it. The store acknowledges nothing meanwhile.
func losesWithoutMajority(t *testing.T, set *testserver.ReplicaSet, s driver.Store, ts *backendtest.Tables) {
	t.Helper()
	client, err := mongodriver.Connect(options.Client().ApplyURI(set.URL).SetWriteConcern(writeconcern.W1()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(context.WithoutCancel(t.Context()))
	primary, err := set.AwaitWhole(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fetching := func(mode string) {
		for i, node := range set.Nodes {
			if i != primary {
				do(t, raw(t, node.URL).Database("admin"), d("configureFailPoint", "stopReplProducer", "mode", mode))
			}
		}
	}
	fetching("alwaysOn")
	const written = 50
	posts := client.Database("control").Collection("posts")
	for n := range written {
		if _, err := posts.InsertOne(t.Context(), d("n", n)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ops, token := ts.Insert(t, "ann", "1"), driver.NewToken()
	if _, err := s.Commit(ctx, token, ops); !errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("a commit that no other server has: %v, want ErrUnknownOutcome", err)
	}
	set.Nodes[primary].Kill9(t)
	waitsForMajority(t, set, s, ts)
	fetching("off")
	refusal, err := s.Commit(t.Context(), token, ops)
	for begun := time.Now(); err != nil && time.Since(begun) < 2*time.Minute; refusal, err = s.Commit(t.Context(), token, ops) {
		time.Sleep(100 * time.Millisecond) // until there is another primary
	}
	if refusal != nil || err != nil {
		t.Errorf("the same commit, sent again: %v, %v", refusal, err)
	}
	set.Nodes[primary].Restart(t)
	if _, err := set.AwaitWhole(t.Context()); err != nil {
		t.Fatal(err)
	}
	there, err := posts.CountDocuments(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	if there == written {
		t.Error("nothing that one server acknowledged is lost with it: the test cannot see a loss")
	}
	t.Logf("the control lost %d of %d acknowledged writes", written-there, written)
}

// waitsForMajority sees that nothing is read from a primary that was elected while the
// other server gets nothing from it: it does not know what was acknowledged before. The
// control: asked by itself it answers.
func waitsForMajority(t *testing.T, set *testserver.ReplicaSet, s driver.Store, ts *backendtest.Tables) {
	t.Helper()
	posts := raw(t, set.URL).Database("control").Collection("posts", options.Collection().SetReadConcern(readconcern.Majority()))
	if _, err := posts.CountDocuments(t.Context(), bson.D{}); err != nil {
		t.Errorf("a read by the driver alone: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := s.Get(ctx, ts.Posts, []driver.Key{backendtest.KeyOf(t, ts.Posts, "ann", "1")}, nil, make([]driver.Row, 1))
	if !errors.Is(err, driver.ErrTimeout) {
		t.Errorf("a read from a primary that does not know what is acknowledged: %v, want ErrTimeout", err)
	}
}
