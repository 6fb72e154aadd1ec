package tree_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A world is a store whose calls wait until they are told to go on, so that each interleaving of some clients is one
// list of choices. A client may end for ever at a call.
type world struct {
	inner  driver.Store
	over   chan struct{} // closed when the clients that ended may go
	orders bool          // clients wait before their calls of the tree only, which then come one after the other

	mu      sync.Mutex
	waiting map[int][]chan struct{} // by client, each at a call
	free    bool                    // nobody waits any more
}

type clientKey struct{}

// An inWorld is what a context says of its client.
type inWorld struct {
	id int
	w  *world
}

// step is what a client calls before each of its calls of the tree but for the first.
func step(ctx context.Context) {
	if c, ok := ctx.Value(clientKey{}).(inWorld); ok && c.w.orders {
		c.w.wait(ctx)
	}
}

// turn waits before a call of the store until the client of a context may go on.
func (w *world) turn(ctx context.Context) {
	if !w.orders {
		w.wait(ctx)
	}
}

func (w *world) wait(ctx context.Context) {
	c, ok := ctx.Value(clientKey{}).(inWorld)
	w.mu.Lock()
	if !ok || w.free {
		w.mu.Unlock()
		return
	}
	turn := make(chan struct{})
	w.waiting[c.id] = append(w.waiting[c.id], turn)
	w.mu.Unlock()
	select {
	case <-turn:
	case <-w.over:
		runtime.Goexit()
	}
}

// A gated store is that of a world.
type gated struct {
	driver.Store
	w *world
}

func (g gated) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	g.w.turn(ctx)
	return g.Store.Get(ctx, t, keys, mask, rows)
}

func (g gated) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		g.w.turn(ctx)
		g.Store.Range(ctx, span)(yield)
	}
}

func (g gated) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	g.w.turn(ctx)
	return g.Store.Commit(ctx, token, ops)
}

// A gatedFollower is a gated store that follows references, of which it may read the first level before the others.
type gatedFollower struct {
	gated
	in     driver.Follower
	levels bool
}

func (g gatedFollower) Follow(ctx context.Context, trail driver.Trail, beside []*driver.Table, yield func(i int, row *driver.Row) bool) error {
	g.w.turn(ctx)
	seen := map[driver.Key]bool{}
	if g.levels {
		first := trail
		first.Depth = 1
		if err := g.in.Follow(ctx, first, nil, yield); err != nil {
			return err
		}
		g.w.turn(ctx)
		_ = g.in.Follow(ctx, first, nil, func(_ int, row *driver.Row) bool { seen[row.Key] = true; return true })
	}
	return g.in.Follow(ctx, trail, beside, func(i int, row *driver.Row) bool { return i == 0 && seen[row.Key] || yield(i, row) })
}

// A scenario is a tree and what clients do to it at once.
type scenario struct {
	name    string
	before  string // nodes, each "id" or "id<parent"
	clients []client
	dies    int // the client that may end at any of its calls, or -1

	broken func(driver.Store) driver.Store // breaks the store in which clients are at once
}

// A run is an interleaving as far as it was chosen, and how many choices there were at each step.
type run struct {
	picks, options []int
}

// pick chooses among n; 0 goes on with the same client.
func (r *run) pick(n int) int {
	at := len(r.options)
	r.options = append(r.options, n)
	if at == len(r.picks) {
		r.picks = append(r.picks, 0)
	}
	return r.picks[at]
}

// next makes a run the next one, with at most so many picks that are not 0, and reports whether there is one.
func (r *run) next(most int) bool {
	r.picks = r.picks[:len(r.options)]
	for i := len(r.picks) - 1; i >= 0; i-- {
		used := 0
		for _, p := range r.picks[:i] {
			if p > 0 {
				used++
			}
		}
		if r.picks[i]+1 < r.options[i] && used < most {
			r.picks, r.options = append(r.picks[:i:i], r.picks[i]+1), nil
			return true
		}
	}
	return false
}

// draw makes a run one at random, with two turns taken at two of so many choices.
func (r *run) draw(steps int) {
	r.picks, r.options = make([]int, steps), nil
	for range 2 {
		r.picks[rand.IntN(steps)] = 1 + rand.IntN(2)
	}
}

// sample runs a scenario in all interleavings with one turn taken, and in some at random with two.
func sample(t *testing.T, s scenario, k kind, some int) (runs int, failed string) {
	runs, failed = explore(t, s, k, 1)
	orders, _ := s.orders(t, k)
	r := new(run)
	_, bad := s.play(t, k, r, false)
	for failed = cmp.Or(failed, bad); failed == "" && some > 0; some-- {
		runs++
		r.draw(max(len(r.options), 1))
		failed = s.try(t, k, r, orders)
	}
	return runs, failed
}

// try runs a scenario once, and says what is wrong with it.
func (s *scenario) try(t *testing.T, k kind, r *run, orders map[string]bool) string {
	got, failed := s.play(t, k, r, false)
	if failed == "" && !orders[got] {
		failed = fmt.Sprintf("%s: %s (choices %v); orders give %q", noOrder, got, r.picks, slices.Sorted(maps.Keys(orders)))
	}
	return failed
}

// explore runs a scenario in all interleavings with at most so many turns taken from a client that could go on. What
// clients are told, and the tree then, must be as in one of the orders of their calls.
func explore(t *testing.T, s scenario, k kind, most int) (runs int, failed string) {
	orders, runs := s.orders(t, k)
	r := &run{}
	for {
		runs++
		r.options = nil
		failed := s.try(t, k, r, orders)
		if failed != "" || !r.next(most) {
			return runs, failed
		}
	}
}

// play makes one run, and returns what came of it, and what is wrong with that by itself.
func (s *scenario) play(t *testing.T, k kind, r *run, orders bool) (got, failed string) {
	synctest.Test(t, func(t *testing.T) {
		in := k.store()
		w := &world{inner: in, over: make(chan struct{}), orders: orders, waiting: map[int][]chan struct{}{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f, err := tree.Open[category](ctx, repo.NewStore(s.on(w, k), atOnce()), tree.Schema{Collection: "c", Strategy: k.Strategy, Also: all})
		if err != nil {
			t.Fatal(err)
		}
		tr := f.Tree("shop")
		for _, one := range strings.Fields(s.before) {
			id, parent, _ := strings.Cut(one, "<")
			if err := tr.Insert(ctx, tree.Under(parent), &category{Node: tree.Node{ID: id}}); err != nil {
				t.Fatal(err)
			}
		}
		left, told := len(s.clients), s.toldNothing()
		for id, do := range s.clients {
			go func() {
				ctx := context.WithValue(ctx, clientKey{}, inWorld{id, w})
				step(ctx)
				err := do(ctx, tr)
				if id == s.dies {
					step(ctx) // it may end when its last call is done
				}
				told[id] = toldBy(err)
				if errors.Is(err, errSeen) {
					failed = err.Error()
				}
				left--
			}()
		}
		s.schedule(w, r, &left)
		w.mu.Lock()
		w.free = true
		w.mu.Unlock()
		bad, tree := s.settle(ctx, f)
		failed = cmp.Or(failed, bad)
		got = strings.Join(told, ", ") + ": " + tree
		close(w.over)
		synctest.Wait()
		if failed != "" {
			failed += fmt.Sprintf(" (%q, choices %v)", told, r.picks)
		}
	})
	return got, failed
}

// on is the store of a world.
func (s *scenario) on(w *world, k kind) driver.Store {
	in := w.inner
	if s.broken != nil && !w.orders {
		in = s.broken(in)
	}
	if k.follows {
		return gatedFollower{gated{in, w}, w.inner.(driver.Follower), k.levels}
	}
	return gated{in, w}
}

// schedule lets the clients go on one at a time until all have ended.
func (s *scenario) schedule(w *world, r *run, left *int) {
	last, dies := -1, s.dies
	for synctest.Wait(); *left > 0; synctest.Wait() {
		w.mu.Lock() // for those that sleep
		ids := slices.Sorted(maps.Keys(w.waiting))
		if i := slices.Index(ids, last); i > 0 {
			ids = append([]int{last}, slices.Delete(ids, i, i+1)...)
		}
		if len(ids) == 0 { // they sleep
			w.mu.Unlock()
			time.Sleep(time.Millisecond)
			continue
		}
		n := len(ids)
		if w.waiting[dies] != nil {
			n++
		}
		p := min(r.pick(n), n-1)
		if p == len(ids) {
			delete(w.waiting, dies)
			w.mu.Unlock()
			*left--
			dies = -1
			continue
		}
		last = ids[p]
		list := w.waiting[last]
		if w.waiting[last] = list[1:]; len(list) == 1 {
			delete(w.waiting, last)
		}
		w.mu.Unlock()
		close(list[0])
	}
}

// settle ends what is left, and says what is wrong with the tree then, and how it is.
func (s *scenario) settle(ctx context.Context, f *tree.Forest[category]) (bad, outlined string) {
	tr := f.Tree("shop")
	if err := tr.Settle(ctx); err != nil {
		return err.Error(), ""
	}
	nodes := map[string]category{}
	for n, err := range f.Nodes().Find(ctx, repo.Where("tree", "shop")) {
		if err != nil {
			return err.Error(), ""
		}
		nodes[n.ID] = n
	}
	strategy, err := tr.Strategy(ctx)
	if err != nil {
		return err.Error(), ""
	}
	if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
		return fmt.Sprint(bad, err), ""
	}
	if strategy != tree.Document {
		bad = unsound(nodes, strategy)
	}
	seen := 0
	for item, err := range tr.Descendants(ctx, "", 0) {
		if err != nil {
			return err.Error(), ""
		}
		seen++
		outlined += strings.Repeat(".", item.Depth-1) + item.Node.ID + item.Node.Name + " "
	}
	switch {
	case bad != "":
	case strategy == tree.Document && len(nodes) > 0:
		bad = fmt.Sprintf("%d records beside the document", len(nodes))
	case strategy != tree.Document && seen != len(nodes):
		bad = fmt.Sprintf("%d nodes are found from the roots, of %d", seen, len(nodes))
	}
	return bad, outlined + string(strategy)
}

type client = func(ctx context.Context, tr *tree.Tree[category]) error

func moves(id, under string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error { return tr.Move(ctx, id, tree.Under(under)) }
}

func inserts(id, under string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error {
		return tr.Insert(ctx, tree.Under(under), &category{Node: tree.Node{ID: id}})
	}
}

func deletes(id string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error { return tr.Delete(ctx, id) }
}

// removes deletes a node, or is told that it is gone: of two deletions at the same time both may succeed.
func removes(id string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error {
		if err := tr.Delete(ctx, id); !errors.Is(err, repo.ErrNotFound) {
			return err
		}
		return nil
	}
}

func cuts(id string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error { return tr.DeleteSubtree(ctx, id) }
}

// converts brings the tree to the strategy that comes so many after its own.
func converts(by int) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error {
		s, err := tr.Strategy(ctx)
		if err != nil {
			return err
		}
		step(ctx)
		return tr.Convert(ctx, all[(slices.Index(all, s)+by)%len(all)])
	}
}

func lifts(id string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error { return tr.Lift(ctx, id) }
}

// packs brings the tree to a document, or back from one.
func packs(ctx context.Context, tr *tree.Tree[category]) error {
	s, err := tr.Strategy(ctx)
	if err != nil {
		return err
	}
	step(ctx)
	if s == tree.Document {
		return tr.Convert(ctx, tree.Adjacency)
	}
	return tr.Convert(ctx, tree.Document)
}

// renames updates a node, and sees after the others that it was.
func renames(id string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error {
		_, err := tr.Update(ctx, id, func(n *category) error {
			n.Name = "renamed"
			return nil
		})
		if err != nil {
			return err
		}
		if err := tr.Settle(ctx); err != nil {
			return err
		}
		n, err := tr.Get(ctx, id)
		if err == nil && n.Name != "renamed" {
			return fmt.Errorf("%w: an update of %s that was acknowledged is lost", errSeen, id)
		}
		return err
	}
}

// shifts deletes a leaf and inserts it elsewhere, and sees after the others that it is there.
func shifts(id, under string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error {
		if err := tr.Delete(ctx, id); err != nil {
			return err
		}
		step(ctx)
		if err := tr.Insert(ctx, tree.Under(under), &category{Node: tree.Node{ID: id}}); err != nil {
			return err
		}
		if err := tr.Settle(ctx); err != nil {
			return err
		}
		n, err := tr.Get(ctx, id)
		if errors.Is(err, repo.ErrNotFound) || err == nil && n.Parent != under {
			return fmt.Errorf("%w: %s was inserted below %s, and is not there: %v", errSeen, id, under, err)
		}
		return err
	}
}

var errSeen = errors.New("a reader has seen what never was")

// reads looks at the whole tree: each node comes once, after its parent, and those that are always there come.
func reads(always ...string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error {
		seen := map[string]bool{"": true}
		var list []string
		for item, err := range tr.Descendants(ctx, "", 0) {
			if err != nil {
				return err
			}
			list = append(list, item.Node.ID+"<"+item.Node.Parent)
			if seen[item.Node.ID] || !seen[item.Node.Parent] {
				return fmt.Errorf("%w: %v", errSeen, list)
			}
			seen[item.Node.ID] = true
		}
		for _, id := range always {
			if !seen[id] {
				return fmt.Errorf("%w: %v without %s", errSeen, list, id)
			}
		}
		return nil
	}
}

var scenarios = []scenario{
	{"two opposite moves", "a b", []client{moves("a", "b"), moves("b", "a")}, -1, nil},
	{"two opposite moves of subtrees", "a a1<a b b1<b", []client{moves("a", "b1"), moves("b", "a1")}, -1, nil},
	{"an insert below what is moved", "a a1<a b", []client{moves("a", "b"), inserts("n", "a1")}, -1, nil},
	{"an insert below what is deleted", "a", []client{deletes("a"), inserts("n", "a")}, -1, nil},
	{"an insert below what is cut", "a a1<a", []client{cuts("a"), inserts("n", "a1")}, -1, nil},
	{"a move below what is deleted", "a b", []client{deletes("a"), moves("b", "a")}, -1, nil},
	{"a move below what is cut", "a a1<a b", []client{cuts("a"), moves("b", "a1")}, -1, nil},
	{"a move out of what is cut", "a a1<a b", []client{cuts("a"), moves("a1", "b")}, -1, nil},
	{"the moved is moved on", "a a1<a b c", []client{moves("a", "b"), moves("b", "c")}, -1, nil},
	{"a mover that dies, and another move", "a a1<a b c", []client{moves("a", "b"), moves("b", "c")}, 0, nil},
	{"a mover that dies, and an insert", "a a1<a b", []client{moves("a", "b"), inserts("n", "a1")}, 0, nil},
	{"a cut that ends early, and an insert", "a a1<a", []client{cuts("a"), inserts("n", "a1")}, 0, nil},
	{"a delete that ends early, and an insert", "a", []client{deletes("a"), inserts("n", "a")}, 0, nil},
	{"a move there and back beside one who helps", "a a1<a b", []client{moves("a", "b"), func(ctx context.Context, tr *tree.Tree[category]) error {
		return errors.Join(tr.Settle(ctx), tr.Move(ctx, "a", tree.FirstUnder("")))
	}}, -1, nil},
	{"a reader beside a move", "a a1<a b", []client{moves("a", "b"), reads("a", "a1", "b")}, 0, nil},
	{"a reader beside a cut", "a a1<a b", []client{cuts("a"), reads()}, 0, nil},
	{"two inserts below one node", "a", []client{inserts("m", "a"), inserts("n", "a")}, -1, nil},
	{"two roots", "", []client{inserts("m", ""), inserts("n", "")}, -1, nil},
	{"an insert beside a move to the same parent", "a b b1<b", []client{moves("b", "a"), inserts("n", "a")}, -1, nil},
	{"a delete beside a move to the same parent", "a a1<a b", []client{moves("b", "a"), deletes("a1")}, -1, nil},
	{"a document is made, and an insert", "a", []client{packs, inserts("n", "a")}, 0, nil},
	{"a document is made, and a root", "a", []client{packs, inserts("n", "")}, 0, nil},
	{"a document is made, and a delete", "a a1<a", []client{packs, deletes("a1")}, 0, nil},
	{"a document is made, and an update", "a", []client{packs, renames("a")}, 0, nil},
	{"a document is made, and a move", "a a1<a b", []client{packs, moves("a", "b")}, 0, nil},
	{"a reader beside a document that is made", "a a1<a", []client{packs, reads("a", "a1")}, 0, nil},
	{"a conversion and an insert", "a a1<a", []client{converts(1), inserts("n", "a1")}, 0, nil},
	{"a conversion and a root", "a", []client{converts(1), inserts("n", "")}, 0, nil},
	{"a conversion two on, and an insert", "a", []client{converts(2), inserts("n", "a")}, 0, nil},
	{"a conversion back, and an insert", "a", []client{converts(3), inserts("n", "a")}, 0, nil},
	{"a conversion and a move", "a a1<a b", []client{converts(1), moves("a", "b")}, 0, nil},
	{"a conversion back and a move", "a a1<a b", []client{converts(3), moves("a", "b")}, 0, nil},
	{"a conversion and a delete", "a a1<a", []client{converts(3), deletes("a1")}, 0, nil},
	{"two conversions", "a a1<a", []client{converts(1), converts(2)}, 0, nil},
	{"two that end a conversion", "a a1<a", []client{converts(4), converts(4)}, -1, nil},
	{"a reader beside a conversion", "a a1<a b", []client{converts(1), reads("a", "a1", "b")}, 0, nil},
	{"a cut beside a delete and an insert elsewhere", "a b x<a", []client{shifts("x", "b"), cuts("a")}, -1, nil},
	{"a mover that dies beside a delete and an insert elsewhere", "p q r x<p", []client{moves("p", "q"), shifts("x", "r")}, 0, nil},
	{"a conversion beside a delete and an insert elsewhere", "p q x<p", []client{converts(1), shifts("x", "q")}, 0, nil},
	{"a conversion back beside a delete and an insert elsewhere", "p q x<p", []client{converts(3), shifts("x", "q")}, 0, nil},
	{"a document beside a delete and an insert elsewhere", "p q x<p", []client{packs, shifts("x", "q")}, 0, nil},
	{"a reader beside a delete and an insert elsewhere", "p q x<p", []client{shifts("x", "q"), reads("p", "q")}, 0, nil},
	{"a lift beside an insert", "a b<a", []client{lifts("b"), inserts("n", "b")}, -1, nil},
	{"a lift beside a cut of a child", "a c<a e<c", []client{lifts("c"), cuts("e")}, -1, nil},
	{"an insert beside a node that is cut", "a c<a e<c", []client{cuts("c"), insertsAt("e", tree.After("c"))}, -1, nil},
	{"two deletes", "a", []client{removes("a"), removes("a")}, 0, nil},
	{"a reader beside a conversion back", "a a1<a b", []client{converts(3), reads("a", "a1", "b")}, 0, nil},
}

var interleavings = flag.Int("interleavings", 60, "how many interleavings at random with two turns taken there are of a scenario, beside all with one; 0 takes all with two, too")

// All interleavings in which one turn is taken from a client that could go on, and some with two.
func TestInterleavings(t *testing.T) {
	for _, s := range scenarios {
		for _, k := range kinds() {
			if k.spread || k.follows && k.Strategy != tree.Adjacency {
				continue
			}
			t.Run(s.name+"/"+k.String(), func(t *testing.T) {
				t.Parallel()
				var runs int
				var failed string
				if *interleavings > 0 {
					runs, failed = sample(t, s, k, *interleavings)
				} else {
					runs, failed = explore(t, s, k, 2)
				}
				if failed != "" {
					t.Error(failed)
				}
				t.Logf("%d runs", runs)
			})
		}
	}
}

// A following store that reads at several instants, level by level, shows what never was.
func TestFollowersMustReadAtOnce(t *testing.T) {
	s := scenario{"a reader beside a move to the top", "a a1<a", []client{moves("a1", ""), reads("a", "a1")}, -1, nil}
	for _, levels := range []bool{false, true} {
		runs, failed := explore(t, s, kind{Strategy: tree.Adjacency, follows: true, levels: levels}, 2)
		if (failed != "") != levels {
			t.Errorf("level by level %v: %q after %d runs", levels, failed, runs)
		}
	}
}
