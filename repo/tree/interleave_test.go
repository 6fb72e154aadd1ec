package tree_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
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
	inner driver.Store
	over  chan struct{} // closed when the clients that ended may go

	mu      sync.Mutex
	waiting map[int][]chan struct{} // by client, each at a call
	free    bool                    // nobody waits any more
}

type clientKey struct{}

// turn waits until the client of a context may go on.
func (w *world) turn(ctx context.Context) {
	id, ok := ctx.Value(clientKey{}).(int)
	w.mu.Lock()
	if !ok || w.free {
		w.mu.Unlock()
		return
	}
	c := make(chan struct{})
	w.waiting[id] = append(w.waiting[id], c)
	w.mu.Unlock()
	select {
	case <-c:
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

// explore runs a scenario in all interleavings with at most so many turns taken from a client that could go on.
func explore(t *testing.T, s scenario, k kind, most int) (runs int, failed string) {
	r := &run{}
	for {
		runs++
		r.options = nil
		if failed = s.play(t, k, r); failed != "" || !r.next(most) {
			return runs, failed
		}
	}
}

// play makes one run, and returns what is wrong then.
func (s *scenario) play(t *testing.T, k kind, r *run) (failed string) {
	synctest.Test(t, func(t *testing.T) {
		in := k.store()
		w := &world{inner: in, over: make(chan struct{}), waiting: map[int][]chan struct{}{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var on driver.Store = gated{in, w}
		if k.follows {
			on = gatedFollower{gated{in, w}, in, k.levels}
		}
		f, err := tree.Open[category](ctx, repo.NewStore(on, atOnce()), tree.Schema{Collection: "c", Strategy: k.Strategy, Also: all})
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
		left := len(s.clients)
		var log []string
		for id, do := range s.clients {
			go func() {
				err := do(context.WithValue(ctx, clientKey{}, id), tr)
				log = append(log, fmt.Sprintf("%d: %v", id, err))
				if errors.Is(err, errSeen) {
					failed = err.Error()
				}
				left--
			}()
		}
		s.schedule(w, r, &left)
		w.free = true
		if bad := s.settle(ctx, f); failed == "" {
			failed = bad
		}
		close(w.over)
		synctest.Wait()
		if failed != "" {
			failed += fmt.Sprintf(" (%v, choices %v)", log, r.picks)
		}
	})
	return failed
}

// schedule lets the clients go on one at a time until all have ended.
func (s *scenario) schedule(w *world, r *run, left *int) {
	last, dies := -1, s.dies
	for synctest.Wait(); *left > 0; synctest.Wait() {
		ids := slices.Sorted(maps.Keys(w.waiting))
		if i := slices.Index(ids, last); i > 0 {
			ids = append([]int{last}, slices.Delete(ids, i, i+1)...)
		}
		if len(ids) == 0 { // they sleep
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
			*left--
			dies = -1
			continue
		}
		last = ids[p]
		list := w.waiting[last]
		if w.waiting[last] = list[1:]; len(list) == 1 {
			delete(w.waiting, last)
		}
		close(list[0])
	}
}

// settle ends what is left, and says what is wrong with the tree then.
func (s *scenario) settle(ctx context.Context, f *tree.Forest[category]) string {
	tr := f.Tree("shop")
	if err := tr.Settle(ctx); err != nil {
		return err.Error()
	}
	nodes := map[string]category{}
	for n, err := range f.Nodes().Find(ctx, repo.Where("tree", "shop")) {
		if err != nil {
			return err.Error()
		}
		nodes[n.ID] = n
	}
	strategy, err := tr.Strategy(ctx)
	if err != nil {
		return err.Error()
	}
	if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
		return fmt.Sprint(bad, err)
	}
	if strategy == tree.Document {
		for item, err := range tr.Descendants(ctx, "", 0) {
			if err != nil || nodes[item.Node.ID].ID != "" {
				return fmt.Sprintf("%v, or the node %q is a record, too", err, item.Node.ID)
			}
		}
		if len(nodes) > 0 {
			return fmt.Sprintf("%d records beside the document", len(nodes))
		}
		return ""
	}
	if bad := unsound(nodes, strategy); bad != "" {
		return bad
	}
	seen := 0
	for _, err := range tr.Descendants(ctx, "", 0) {
		if err != nil {
			return err.Error()
		}
		seen++
	}
	if seen != len(nodes) {
		return fmt.Sprintf("%d nodes are found from the roots, of %d", seen, len(nodes))
	}
	return ""
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
		return tr.Convert(ctx, all[(slices.Index(all, s)+by)%len(all)])
	}
}

// insertsNot is a client whose insert is refused in any order.
func insertsNot(id, sibling string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error {
		err := tr.Insert(ctx, tree.After(sibling), &category{Node: tree.Node{ID: id}})
		if err == nil {
			return fmt.Errorf("%w: %s was inserted after %s", errSeen, id, sibling)
		}
		return err
	}
}

func lifts(id string) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error { return tr.Lift(ctx, id) }
}

// never is a client that is not refused for a reason that does not hold at any time.
func never(reason error, do client) client {
	return func(ctx context.Context, tr *tree.Tree[category]) error {
		err := do(ctx, tr)
		if errors.Is(err, reason) {
			return fmt.Errorf("%w: %w", errSeen, err)
		}
		return err
	}
}

// packs brings the tree to a document, or back from one.
func packs(ctx context.Context, tr *tree.Tree[category]) error {
	s, err := tr.Strategy(ctx)
	if err != nil {
		return err
	}
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
	{"two opposite moves", "a b", []client{moves("a", "b"), moves("b", "a")}, -1},
	{"two opposite moves of subtrees", "a a1<a b b1<b", []client{moves("a", "b1"), moves("b", "a1")}, -1},
	{"an insert below what is moved", "a a1<a b", []client{moves("a", "b"), inserts("n", "a1")}, -1},
	{"an insert below what is deleted", "a", []client{deletes("a"), inserts("n", "a")}, -1},
	{"an insert below what is cut", "a a1<a", []client{cuts("a"), inserts("n", "a1")}, -1},
	{"a move below what is deleted", "a b", []client{deletes("a"), moves("b", "a")}, -1},
	{"a move below what is cut", "a a1<a b", []client{cuts("a"), moves("b", "a1")}, -1},
	{"a move out of what is cut", "a a1<a b", []client{cuts("a"), moves("a1", "b")}, -1},
	{"the moved is moved on", "a a1<a b c", []client{moves("a", "b"), moves("b", "c")}, -1},
	{"a mover that dies, and another move", "a a1<a b c", []client{moves("a", "b"), moves("b", "c")}, 0},
	{"a mover that dies, and an insert", "a a1<a b", []client{moves("a", "b"), inserts("n", "a1")}, 0},
	{"a cut that ends early, and an insert", "a a1<a", []client{cuts("a"), inserts("n", "a1")}, 0},
	{"a delete that ends early, and an insert", "a", []client{deletes("a"), inserts("n", "a")}, 0},
	{"a move there and back beside one who helps", "a a1<a b", []client{moves("a", "b"), func(ctx context.Context, tr *tree.Tree[category]) error {
		return errors.Join(tr.Settle(ctx), tr.Move(ctx, "a", tree.FirstUnder("")))
	}}, -1},
	{"a reader beside a move", "a a1<a b", []client{moves("a", "b"), reads("a", "a1", "b")}, 0},
	{"a reader beside a cut", "a a1<a b", []client{cuts("a"), reads()}, 0},
	{"two inserts below one node", "a", []client{inserts("m", "a"), inserts("n", "a")}, -1},
	{"two roots", "", []client{inserts("m", ""), inserts("n", "")}, -1},
	{"an insert beside a move to the same parent", "a b b1<b", []client{moves("b", "a"), inserts("n", "a")}, -1},
	{"a delete beside a move to the same parent", "a a1<a b", []client{moves("b", "a"), deletes("a1")}, -1},
	{"a document is made, and an insert", "a", []client{packs, inserts("n", "a")}, 0},
	{"a document is made, and a root", "a", []client{packs, inserts("n", "")}, 0},
	{"a document is made, and a delete", "a a1<a", []client{packs, deletes("a1")}, 0},
	{"a document is made, and an update", "a", []client{packs, renames("a")}, 0},
	{"a document is made, and a move", "a a1<a b", []client{packs, moves("a", "b")}, 0},
	{"a reader beside a document that is made", "a a1<a", []client{packs, reads("a", "a1")}, 0},
	{"a conversion and an insert", "a a1<a", []client{converts(1), inserts("n", "a1")}, 0},
	{"a conversion and a root", "a", []client{converts(1), inserts("n", "")}, 0},
	{"a conversion two on, and an insert", "a", []client{converts(2), inserts("n", "a")}, 0},
	{"a conversion back, and an insert", "a", []client{converts(3), inserts("n", "a")}, 0},
	{"a conversion and a move", "a a1<a b", []client{converts(1), never(tree.ErrBelowItself, moves("a", "b"))}, 0},
	{"a conversion back and a move", "a a1<a b", []client{converts(3), never(tree.ErrBelowItself, moves("a", "b"))}, 0},
	{"a conversion and a delete", "a a1<a", []client{converts(3), deletes("a1")}, 0},
	{"two conversions", "a a1<a", []client{never(repo.ErrTooLarge, converts(1)), never(repo.ErrTooLarge, converts(2))}, 0},
	{"two that end a conversion", "a a1<a", []client{converts(4), converts(4)}, -1},
	{"a reader beside a conversion", "a a1<a b", []client{converts(1), reads("a", "a1", "b")}, 0},
	{"a cut beside a delete and an insert elsewhere", "a b x<a", []client{shifts("x", "b"), cuts("a")}, -1},
	{"a mover that dies beside a delete and an insert elsewhere", "p q r x<p", []client{moves("p", "q"), shifts("x", "r")}, 0},
	{"a conversion beside a delete and an insert elsewhere", "p q x<p", []client{converts(1), shifts("x", "q")}, 0},
	{"a conversion back beside a delete and an insert elsewhere", "p q x<p", []client{converts(3), shifts("x", "q")}, 0},
	{"a document beside a delete and an insert elsewhere", "p q x<p", []client{packs, shifts("x", "q")}, 0},
	{"a reader beside a delete and an insert elsewhere", "p q x<p", []client{shifts("x", "q"), reads("p", "q")}, 0},
	{"a lift beside an insert", "a b<a", []client{never(tree.ErrHasChildren, lifts("b")), inserts("n", "b")}, -1},
	{"an insert beside a node that is cut", "a c<a e<c", []client{cuts("c"), insertsNot("e", "c")}, -1},
	{"two deletes", "a", []client{deletes("a"), deletes("a")}, 0},
	{"a reader beside a conversion back", "a a1<a b", []client{converts(3), reads("a", "a1", "b")}, 0},
}

func TestInterleavings(t *testing.T) {
	for _, s := range scenarios {
		for _, k := range kinds() {
			if k.spread || k.follows && k.Strategy != tree.Adjacency {
				continue
			}
			t.Run(s.name+"/"+k.String(), func(t *testing.T) {
				runs, failed := explore(t, s, k, 2)
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
	s := scenario{"a reader beside a move to the top", "a a1<a", []client{moves("a1", ""), reads("a", "a1")}, -1}
	for _, levels := range []bool{false, true} {
		runs, failed := explore(t, s, kind{Strategy: tree.Adjacency, follows: true, levels: levels}, 2)
		if (failed != "") != levels {
			t.Errorf("level by level %v: %q after %d runs", levels, failed, runs)
		}
	}
}
