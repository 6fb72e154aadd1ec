package crash_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/raw"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

var treeKills = flag.Int("tree-kills", 1, "how often a program is killed in the middle of each kind of change of a tree, on each store")

// Programs are killed in the middle of a long move, a deletion, a conversion and a load. What they leave is
// named by the guard, seen whole by readers, and ended by the next program.
func TestTrees(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, o *orchard){"pebble": onPebble, "redis": onRedis, "cluster": onCluster, "mongo": onMongo, "cassandra": onCassandra} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &orchard{collection: unique(), rng: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)), left: map[string]int{}}
			if plant(t, o); name != "pebble" {
				dropped(t, o.url, o.collection)
				dropped(t, o.url, o.collection+"_trees") // which comes first
			}
			o.test(t)
		})
	}
}

func onPebble(t *testing.T, o *orchard) {
	dir := t.TempDir()
	o.url, o.rows, o.alone = "pebble:"+dir, raw.Pebble(dir).Reader(o.collection, treeTables), true
}

func onRedis(t *testing.T, o *orchard) {
	o.url = testserver.Shared(t, testserver.Redis).URL
	o.rows = source(t, raw.Redis, o.url).Reader(o.collection, treeTables)
}

func onCluster(t *testing.T, o *orchard) {
	o.url = testserver.SharedCluster(t).URL
	o.rows = source(t, raw.RedisCluster, o.url).Reader(o.collection, treeTables)
}

func onMongo(t *testing.T, o *orchard) {
	const database = "crashtrees"
	server := testserver.Shared(t, testserver.Mongo).URL
	o.url, o.native = with(server, "database="+database+patient), true
	o.rows = sourceIn(t, raw.Mongo, server, database).Reader(o.collection, raw.Tables{"": treeTables[""]})
}

func onCassandra(t *testing.T, o *orchard) {
	const keyspace = "crash"
	server := testserver.Shared(t, testserver.Cassandra).URL
	o.url = strings.TrimSuffix(server, "/") + "/" + keyspace + "?replication=1&timeout=60s&connect_timeout=60s"
	o.by(t, tree.Path, func(context.Context, *repo.Store, *tree.Forest[leaf]) error { return nil }) // which makes the keyspace
	o.rows = sourceIn(t, raw.Cassandra, server, keyspace).Reader(o.collection, treeTables)
}

// middle is a commit that each change has, after the first.
const middle = 2

// An orchard is a forest on whose trees programs are killed.
type orchard struct {
	url, collection string
	rows            raw.Reader // of the nodes, by the store's own driver
	alone           bool       // who has the store open keeps others out
	native          bool       // the store itself keeps the indexes
	rng             *rand.Rand
	kills           int
	left            map[string]int // kills that left something pending, by what was done
}

// by calls do with the forest as a program has it that begins now, and whose new trees have a strategy.
func (o *orchard) by(t *testing.T, strategy tree.Strategy, do func(ctx context.Context, store *repo.Store, f *tree.Forest[leaf]) error) {
	t.Helper()
	store, err := backends.Open(t.Context(), o.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := tree.Open[leaf](t.Context(), store, forestSchema(o.collection, strategy))
	if err == nil {
		err = do(t.Context(), store, f)
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
}

func (o *orchard) load(t *testing.T, name string, strategy tree.Strategy) (parents map[string]string) {
	t.Helper()
	o.by(t, strategy, func(ctx context.Context, _ *repo.Store, f *tree.Forest[leaf]) error {
		_, err := f.Tree(name).Load(ctx, leaves(width()))
		return err
	})
	return first(len(planned(width())))
}

// first returns the first nodes that are loaded, each with its parent.
func first(n int) map[string]string {
	parents := map[string]string{}
	for _, one := range planned(width())[:n] {
		parents[one[0]] = one[1]
	}
	return parents
}

func (o *orchard) test(t *testing.T) {
	began := time.Now()
	strategy := tree.Path
	long := o.load(t, "long", strategy)
	for i := range *treeKills {
		to := map[string]string{"a": "b", "b": "a"}[long["x"]]
		moved := maps.Clone(long)
		moved["x"] = to
		long = o.kill(t, i, &treeOrder{Tree: "long", Do: "move", To: to, Probe: fmt.Sprint("m", i)}, long, moved)
		strategy = everyStrategy[(slices.Index(everyStrategy, strategy)+1)%len(everyStrategy)]
		long = o.kill(t, i, &treeOrder{Tree: "long", Do: "convert", To: string(strategy), Probe: fmt.Sprint("c", i)}, long, long)

		cut, of := fmt.Sprint("cut", i), everyStrategy[(i+1)%(len(everyStrategy)-1)] // a document has no long deletion
		whole := o.load(t, cut, of)
		rest := map[string]string{"a": "", "b": ""}
		o.kill(t, i, &treeOrder{Tree: cut, Do: "delete", Probe: "p"}, whole, rest)
		o.kill(t, i, &treeOrder{Tree: fmt.Sprint("load", i), Do: "load", Strategy: of}, nil, first(len(planned(width()))))
	}
	o.load(t, "still", tree.Path)
	o.controlRows(t, "still", o.read(t))
	for _, do := range []string{"move", "convert", "delete"} {
		if o.left[do] == 0 {
			t.Errorf("no program was killed in the middle of a %s", do)
		}
	}
	t.Logf("%d kills in %s; left pending: %v", o.kills, time.Since(began).Round(time.Second), o.left)
	if *treeKills > 1 || strings.HasPrefix(o.url, "pebble:") {
		o.unfinished(t)
	}
}

// kill lets a process do what is ordered until it is killed: the first time in the middle, and then anywhere. It
// returns the tree that is there then.
func (o *orchard) kill(t *testing.T, i int, do *treeOrder, before, after map[string]string) (now map[string]string) {
	t.Helper()
	do.Commit = middle
	if i > 0 {
		do.Commit = o.rng.IntN(16)
	}
	if i%2 == 1 {
		do.Delay = time.Duration(1 + o.rng.Int64N(int64(20*time.Millisecond)))
	}
	if do.Probe != "" {
		before, after = maps.Clone(before), maps.Clone(after)
		before[do.Probe], after[do.Probe] = "b", "b"
	}
	done := o.run(t, do)
	rows := o.read(t)
	o.by(t, do.Strategy, func(ctx context.Context, store *repo.Store, f *tree.Forest[leaf]) error {
		what := fmt.Sprintf("%s of %s to %q, killed at commit %d, %s after it began", do.Do, do.Tree, do.To, do.Commit, do.Delay)
		left, rows, err := o.standing(ctx, t, store, do.Tree, rows)
		if err != nil {
			return err
		}
		if text := o.differ(do.Tree, rows, left); len(text) > 0 {
			t.Errorf("%s: the rows say otherwise: %q", what, text)
		}
		if left.pending != nil {
			o.left[do.Do]++
		}
		if faults, _ := left.wrong(); len(faults) > 0 || len(left.unnamed()) > 0 {
			t.Errorf("%s: the guard has %v pending: %v; not named: %v", what, left.pending, faults, left.unnamed())
		}
		if text := within(do.Do, left.parents(), before, after); text != "" {
			t.Errorf("%s: %s", what, text)
		}
		if now, err = o.goesOn(ctx, t, what, i, store, f.Tree(do.Tree)); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if text := whole(do.Do, now, before, after); text != "" || done && !maps.Equal(now, after) {
			t.Errorf("%s, acknowledged %v: readers see what is neither from before nor from after: %s", what, done, text)
		}
		return nil
	})
	return now
}

// run runs a process until it is killed, and reports whether the change was acknowledged.
func (o *orchard) run(t *testing.T, do *treeOrder) (done bool) {
	t.Helper()
	do.URL, do.Collection, do.Width = o.url, o.collection, width()
	text, err := json.Marshal(order{Tree: do})
	if err != nil {
		t.Fatal(err)
	}
	said, err := process(t.Context(), string(text))
	if err != nil {
		t.Fatal(err)
	}
	o.kills++
	return strings.Contains(said, "done")
}

// within says why records that a killed program has left are no part of what it did.
func within(do string, is, before, after map[string]string) string {
	if do == "delete" {
		for id, parent := range is {
			if at, had := before[id]; !had || at != parent {
				return fmt.Sprintf("%s is below %q", id, parent)
			}
		}
		for id, parent := range after {
			if at, has := is[id]; !has || at != parent {
				return fmt.Sprintf("%s is not below %q", id, parent)
			}
		}
		return ""
	}
	return whole(do, is, before, after)
}

// whole says why a tree is neither from before a change nor from after it. A load is done node by node.
func whole(do string, is, before, after map[string]string) string {
	part := do == "load" && len(is) <= len(after) && maps.Equal(is, first(len(is)))
	if part || maps.Equal(is, before) || maps.Equal(is, after) {
		return ""
	}
	return fmt.Sprintf("%d nodes, %d before and %d after", len(is), len(before), len(after))
}

// goesOn reads a tree as the next program does, ends what is pending by one call or another, and returns the tree. It
// must be the same then, and nothing of it wrong or pending.
func (o *orchard) goesOn(ctx context.Context, t *testing.T, what string, i int, store *repo.Store, tr *tree.Tree[leaf]) (seen map[string]string, err error) {
	err = patiently(ctx, func(ctx context.Context) error {
		seen, err = parentsOf(ctx, tr)
		return err
	})
	if err != nil {
		return nil, err
	}
	next := tr.Settle
	if _, has := seen["b"]; has && i%2 == 1 {
		next = func(ctx context.Context) error { return tr.Move(ctx, "b", tree.Under("")) }
	}
	if err := patiently(ctx, next); err != nil {
		return nil, err
	}
	now, err := parentsOf(ctx, tr)
	if err != nil {
		return nil, err
	}
	left, err := standingOf(ctx, store, o.collection, tr.Name())
	if err != nil {
		return nil, err
	}
	problems, err := tr.Verify(ctx)
	faults, derived := left.wrong()
	if len(problems)+len(faults)+len(derived) > 0 || left.pending != nil || !maps.Equal(now, seen) || !maps.Equal(left.parents(), seen) {
		t.Errorf("%s: when the next program has gone on, %d nodes are seen, %d were, and %d are there; pending: %v; %v %v %v", what, len(now), len(seen), len(left.nodes), left.pending, problems, faults, derived)
	}
	return seen, err
}

// patiently does what a store may put off: MongoDB keeps what a killed client was writing from others, until it gives
// the transaction up after a minute.
func patiently(ctx context.Context, do func(ctx context.Context) error) error {
	for began := time.Now(); ; {
		err := do(ctx)
		if !errors.Is(err, repo.ErrThrottled) || time.Since(began) > 2*time.Minute {
			return err
		}
	}
}

// parentsOf reads a tree from its roots, each node once.
func parentsOf(ctx context.Context, tr *tree.Tree[leaf]) (map[string]string, error) {
	parents := map[string]string{}
	for item, err := range tr.Descendants(ctx, "", 0) {
		if err != nil {
			return nil, err
		}
		if _, twice := parents[item.Node.ID]; twice {
			return nil, fmt.Errorf("%s is found twice", item.Node.ID)
		}
		parents[item.Node.ID] = item.Node.Parent
	}
	return parents, nil
}

// The control: where what is pending is forgotten, and so never ended, a move and a deletion leave what is wrong, which
// the records show, readers, and Verify.
func (o *orchard) unfinished(t *testing.T) {
	for _, do := range []*treeOrder{{Tree: "moved", Do: "move", To: "b"}, {Tree: "deleted", Do: "delete"}} {
		o.load(t, do.Tree, tree.Path)
		do.Commit = middle
		o.run(t, do)
		o.by(t, tree.Path, func(ctx context.Context, store *repo.Store, f *tree.Forest[leaf]) error {
			guards, err := records(ctx, store, o.collection+"_trees")
			if err != nil {
				return err
			}
			if _, err := guards.Update(ctx, repo.Key{do.Tree}, func(g *fields) error { delete(*g, "pending"); return nil }); err != nil {
				return err
			}
			left, err := standingOf(ctx, store, o.collection, do.Tree)
			if err != nil {
				return err
			}
			problems, err := f.Tree(do.Tree).Verify(ctx)
			if len(left.unnamed()) == 0 || len(problems) == 0 {
				t.Errorf("a %s that nobody ends: %d nodes are wrong, and Verify finds %d problems; want some of either", do.Do, len(left.unnamed()), len(problems))
			}
			t.Logf("the control: a %s that nobody ends leaves %d nodes that are wrong; Verify finds %d", do.Do, len(left.unnamed()), len(problems))
			return err
		})
	}
}
