package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/graph"
)

// star returns a graph whose start "s" has edges to some nodes, each of which has one to a node of its own.
func star(rays int) *naive {
	nodes := []string{"s"}
	var edges [][2]string
	for i := range rays {
		near, far := fmt.Sprint("near", i), fmt.Sprint("far", i)
		nodes = append(nodes, near, far)
		edges = append(edges, [2]string{"s", near}, [2]string{near, far})
	}
	return naiveOf(nodes, edges)
}

// chain returns the nodes 0, 1, … one after the other.
func chain(n int) *naive {
	var nodes []string
	var edges [][2]string
	for i := range n {
		if nodes = append(nodes, fmt.Sprint(i)); i > 0 {
			edges = append(edges, [2]string{nodes[i-1], nodes[i]})
		}
	}
	return naiveOf(nodes, edges)
}

// count returns how many nodes a search yields before its error.
func count(ctx context.Context, g *graph.Graph, starts []string, opts ...graph.Option) (n int, err error) {
	for _, one := range g.BreadthFirst(ctx, starts, opts...) {
		if err = one; err == nil {
			n++
		}
	}
	return n, err
}

func TestEmpty(t *testing.T) {
	onShapes(t, func(t *testing.T, shape string) {
		g := build(t, newStore(t), shape, naiveOf(nil, nil))
		if n, err := count(t.Context(), g, []string{"nobody", "nobody", ""}); n != 2 || err != nil {
			t.Errorf("two unknown starts: %d nodes, %v", n, err)
		}
		if n, err := count(t.Context(), g, nil); n != 0 || err != nil {
			t.Errorf("no start: %d nodes, %v", n, err)
		}
		if list, err := g.Components(t.Context()); len(list) != 0 || err != nil {
			t.Errorf("components: %q, %v", list, err)
		}
		if cycle, err := g.Cycle(t.Context()); cycle != nil || err != nil {
			t.Errorf("cycle: %q, %v", cycle, err)
		}
		if path, err := g.ShortestPath(t.Context(), "nobody", "nobody"); len(path) != 1 || err != nil {
			t.Errorf("path to itself: %q, %v", path, err)
		}
		_, err := g.ShortestPath(t.Context(), "a", "b")
		isKind(t, err, repo.ErrNotFound)
		_, err = g.ShortestPath(t.Context(), "a", "b", graph.MaxDepth(3))
		isKind(t, err, repo.ErrNotFound)
		if err == nil || !strings.Contains(err.Error(), ": no path of 3 edges at most: not found") {
			t.Error(err)
		}
	})
}

// What has no sense is ErrInvalid, and the text says what to do.
func TestInvalid(t *testing.T) {
	edges, lists := naiveOf(nil, nil), naiveOf(nil, nil)
	noEdges := build(t, newStore(t), "edges without index", edges)
	noLists := build(t, newStore(t), "lists without index", lists)
	g := build(t, newStore(t), "edges", edges)
	links := openRepo[link](t, newStore(t), linkSchema)
	people := openRepo[person](t, newStore(t), personSchema)
	sorted := openRepo[link](t, newStore(t), repo.Schema{Collection: "links", Partition: []string{"to"}, Sort: []string{"from", "n"}})
	ctx := t.Context()
	var none *graph.Graph
	for _, tt := range []struct {
		name, text string
		err        func() error
	}{
		{"edges back", `cannot be followed backwards`, func() error { _, err := count(ctx, noEdges, nil, graph.Along(graph.In)); return err }},
		{"edges back", `add {Partition: ["to"]}`, func() error { _, err := count(ctx, noEdges, nil, graph.Along(graph.Both)); return err }},
		{"edges back", `add {Partition: ["to"]}`, func() error { _, err := noEdges.ShortestPath(ctx, "a", "b", graph.Along(graph.In)); return err }},
		{"edges back", `add {Partition: ["to"]}`, func() error { _, err := noEdges.CycleFrom(ctx, nil, graph.Along(graph.In)); return err }},
		{"lists back", `Lists.Field is empty`, func() error { _, err := count(ctx, noLists, nil, graph.Along(graph.In)); return err }},
		{"edges forth", `n is of kind int, not string`, func() error {
			_, err := graph.OfEdges(links, graph.Edges[link]{From: "n", To: "to", Ends: ends})
			return err
		}},
		{"edges forth", `cannot be followed: no index answers`, func() error {
			_, err := graph.OfEdges(sorted, graph.Edges[link]{From: "from", To: "to", Ends: ends})
			return err
		}},
		{"edges", "needs From, To and Ends", func() error {
			_, err := graph.OfEdges(links, graph.Edges[link]{From: "from", To: "to"})
			return err
		}},
		{"edges", "needs From, To and Ends", func() error { _, err := graph.OfEdges(links, graph.Edges[link]{}); return err }},
		{"edges of nil", "", func() error {
			_, err := graph.OfEdges(nil, graph.Edges[link]{From: "from", To: "to", Ends: ends})
			return err
		}},
		{"lists", "needs a repository and List", func() error { _, err := graph.OfLists(people, graph.Lists[person]{}); return err }},
		{"lists of nil", "", func() error { _, err := graph.OfLists(nil, graph.Lists[person]{List: knows}); return err }},
		{"depth", "MaxDepth is negative", func() error { _, err := count(ctx, g, nil, graph.MaxDepth(-1)); return err }},
		{"nodes", "MaxNodes is not", func() error { _, err := g.Components(ctx, graph.MaxNodes(0)); return err }},
		{"direction", "direction 3", func() error { _, err := count(ctx, g, nil, graph.Along(3)); return err }},
		{"option", "no option Along", func() error { _, err := g.Components(ctx, graph.Along(graph.Out)); return err }},
		{"option", "no option MaxDepth", func() error { _, err := g.Cycle(ctx, graph.MaxDepth(3)); return err }},
		{"option", "Both is no option", func() error { _, err := g.CycleFrom(ctx, nil, graph.Along(graph.Both)); return err }},
		{"context", "the context is nil", func() error { _, err := count(nil, g, nil); return err }}, //nolint:staticcheck // it is refused
		{"nil", "make one with", func() error { _, err := none.Components(ctx); return err }},
		{"zero", "make one with", func() error { _, err := new(graph.Graph).Cycle(ctx); return err }},
	} {
		err := tt.err()
		isKind(t, err, repo.ErrInvalid)
		if err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %q in it", tt.name, err, tt.text)
		}
		if _, ok := errors.AsType[*repo.Error](err); !ok {
			t.Errorf("%s: %v is no repo.Error", tt.name, err)
		}
	}
}

// Redacted errors are of the same kinds.
func TestRedacted(t *testing.T) {
	store := repo.NewStore(memory.New(nil), &repo.Options{Redact: true})
	defer store.Close()
	g := build(t, store, "edges without index", naiveOf(nil, nil))
	_, err := count(t.Context(), g, nil, graph.Along(graph.In))
	isKind(t, err, repo.ErrInvalid)
	isKind(t, err, repo.ErrNoIndex)
	t.Log(err)
}

// A function that returns other IDs than the fields have is found out, not believed.
func TestWrongFunctions(t *testing.T) {
	store := newStore(t)
	build(t, store, "edges", chain(3))
	g, err := graph.OfEdges(openRepo[link](t, store, linkSchema), graph.Edges[link]{
		From: "from", To: "to", Ends: func(l *link) (from, to string) { return l.To, l.From },
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = count(t.Context(), g, []string{"0"})
	isKind(t, err, repo.ErrInvalid)
	build(t, store, "lists", chain(3))
	g, err = graph.OfLists(openRepo[person](t, store, personSchema), graph.Lists[person]{
		List: func(p *person) (string, []string) { return "x" + p.ID, p.Knows },
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.ShortestPath(t.Context(), "0", "2")
	isKind(t, err, repo.ErrInvalid)
}

// A call that meets more nodes than its bound says so. A graph that has as many is no error.
func TestMaxNodes(t *testing.T) {
	onShapes(t, func(t *testing.T, shape string) {
		g, ctx := build(t, newStore(t), shape, star(100)), t.Context() // 201 nodes
		for _, most := range []int{1, 50, 100, 101, 200, 201, 202} {
			limit, fits := graph.MaxNodes(most), most >= 201
			n, err := count(ctx, g, []string{"s"}, limit)
			if n != min(most, 201) {
				t.Errorf("%d of at most %d nodes are yielded", n, most)
			}
			_, pathErr := g.ShortestPath(ctx, "s", "nowhere", limit)
			_, cycleErr := g.Cycle(ctx, limit)
			_, fromErr := g.CycleFrom(ctx, []string{"s"}, limit)
			_, partsErr := g.Components(ctx, limit)
			for i, err := range []error{err, cycleErr, fromErr, partsErr, pathErr} {
				if i == 4 { // the other end is counted, too; nobody is near it, which is found when it is looked at
					fits = most >= 202 || isIndexed(shape) && most >= 102
				}
				switch {
				case fits && err != nil && !(i == 4 && errors.Is(err, repo.ErrNotFound)):
					t.Errorf("call %d, %d nodes: %v", i, most, err)
				case !fits && !errors.Is(err, repo.ErrTooLarge):
					t.Errorf("call %d, %d nodes: %v, want ErrTooLarge", i, most, err)
				case !fits && !strings.Contains(err.Error(), fmt.Sprintf("more than %d nodes: bound the call by MaxDepth, or allow more by MaxNodes", most)):
					t.Errorf("call %d: %v", i, err)
				}
			}
		}
		if n, err := count(ctx, g, []string{"s"}, graph.MaxNodes(101), graph.MaxDepth(1)); n != 101 || err != nil {
			t.Errorf("to depth 1: %d nodes, %v", n, err)
		}
	})
}

// Cycle bounds the edges that it holds.
func TestMaxEdges(t *testing.T) {
	var edges [][2]string
	for range 65 {
		edges = append(edges, [2]string{"a", "b"})
	}
	g := build(t, newStore(t), "edges", naiveOf(nil, edges))
	_, err := g.Cycle(t.Context(), graph.MaxNodes(2))
	isKind(t, err, repo.ErrTooLarge)
	if cycle, err := g.Cycle(t.Context(), graph.MaxNodes(3)); cycle != nil || err != nil {
		t.Error(cycle, err)
	}
}

// A node with very many edges is read in pages: a call that wants few of them does not read them all.
func TestSupernode(t *testing.T) {
	const fans = 100_000
	var edges [][2]string
	for i := range fans {
		edges = append(edges, [2]string{"s", fmt.Sprint("fan", i)})
	}
	var rows atomic.Int64
	store := repo.NewStore(memory.New(nil), &repo.Options{Tracer: repo.Tracer{
		Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
			return ctx, func(e repo.Event) { rows.Add(int64(e.Rows)) }
		},
	}})
	defer store.Close()
	g := build(t, store, "edges", naiveOf(nil, edges))
	if n, err := count(t.Context(), g, []string{"s"}, graph.MaxDepth(1), graph.MaxNodes(fans+1)); n != fans+1 || err != nil {
		t.Errorf("%d nodes, %v", n, err)
	}
	rows.Store(0)
	n, err := count(t.Context(), g, []string{"s"}, graph.MaxNodes(1000))
	isKind(t, err, repo.ErrTooLarge)
	if n != 1000 || rows.Load() > 2000 {
		t.Errorf("%d nodes, %d rows were read", n, rows.Load())
	}
	if path, err := g.ShortestPath(t.Context(), "s", "fan77777"); len(path) != 2 || err != nil {
		t.Error(path, err)
	}
	if path, err := g.ShortestPath(t.Context(), "fan1", "fan77777", graph.Along(graph.Both)); len(path) != 3 || err != nil {
		t.Error(path, err)
	}
}

// A long chain is no deep stack.
func TestChain(t *testing.T) {
	const long = 101_000
	g, ctx, most := build(t, newStore(t), "edges", chain(long)), t.Context(), graph.MaxNodes(long)
	if cycle, err := g.Cycle(ctx, most); cycle != nil || err != nil {
		t.Error(len(cycle), err)
	}
	if list, err := g.Components(ctx, most); len(list) != 1 || len(list[0]) != long || err != nil {
		t.Error(len(list), err)
	}
	if n, err := count(ctx, g, []string{"0"}, most); n != long || err != nil {
		t.Error(n, err)
	}
	end := fmt.Sprint(long - 1)
	if path, err := g.ShortestPath(ctx, "0", end, most); len(path) != long || path[0] != "0" || path[long-1] != end || err != nil {
		t.Error(len(path), err)
	}
	_, err := count(ctx, g, []string{"0"})
	isKind(t, err, repo.ErrTooLarge)
}

// A context that ends in the middle ends the search with an error.
func TestContext(t *testing.T) {
	onShapes(t, func(t *testing.T, shape string) {
		g := build(t, newStore(t), shape, star(200))
		for _, at := range []int{1, 2, 50, 201, 300} {
			ctx, stop := context.WithCancel(t.Context())
			n, last := 0, error(nil)
			for _, err := range g.BreadthFirst(ctx, []string{"s"}) {
				if last != nil {
					t.Fatalf("%v is not the last", last)
				}
				if last = err; err == nil {
					n++
				}
				if n == at {
					stop()
				}
			}
			if last == nil && n < 401 || last != nil && (!errors.Is(last, repo.ErrTimeout) || !errors.Is(last, context.Canceled)) {
				t.Errorf("stopped after %d: %d nodes, %v", at, n, last)
			}
			if e, ok := errors.AsType[*repo.Error](last); last != nil && (!ok || !e.Retryable) {
				t.Errorf("%v cannot be tried again", last)
			}
			stop()
			_, pathErr := g.ShortestPath(ctx, "s", "far1")
			_, cycleErr := g.Cycle(ctx)
			_, fromErr := g.CycleFrom(ctx, []string{"s"})
			_, partsErr := g.Components(ctx)
			for _, err := range []error{pathErr, cycleErr, fromErr, partsErr} {
				isKind(t, err, repo.ErrTimeout)
			}
		}
	})
}

// many is how many neighbours a node of large has, each of which is a node of its own.
const many = 2000

// large returns three nodes whose neighbours are many pages.
func large() (starts []string, edges [][2]string) {
	for i := range 3 {
		starts = append(starts, fmt.Sprint("s", i))
		for j := range many {
			edges = append(edges, [2]string{starts[i], fmt.Sprint(i, "/", j)})
		}
	}
	return starts, edges
}

// A loop that is left while pages wait for it leaves nothing.
func TestLeftPages(t *testing.T) {
	var c counter
	store := repo.NewStore(memory.New(nil), c.options())
	defer store.Close()
	starts, edges := large()
	g := build(t, store, "edges", naiveOf(nil, edges))
	for _, at := range []int{1, 4, 1000, many + 500, 3*many + 3} {
		n := 0
		for range g.BreadthFirst(t.Context(), starts, graph.MaxDepth(1)) {
			if n++; n == at {
				time.Sleep(20 * time.Millisecond) // in which the readers come as far as they can
				break
			}
		}
		if n != at || c.now != 0 {
			t.Errorf("left at %d: %d nodes, %d operations are under way", at, n, c.now)
		}
	}
}

// A context that ends while pages wait for the loop does not make the graph smaller.
func TestContextOfPages(t *testing.T) {
	starts, edges := large()
	g := build(t, newStore(t), "edges", naiveOf(nil, edges))
	for _, at := range []int{4, 1000, many + 500} {
		ctx, stop := context.WithCancel(t.Context())
		n, last := 0, error(nil)
		for _, err := range g.BreadthFirst(ctx, starts, graph.MaxDepth(1)) {
			if last = err; err == nil {
				n++
			}
			if n == at {
				time.Sleep(20 * time.Millisecond) // in which the readers come as far as they can
				stop()
			}
		}
		stop()
		if n >= 3*many || !errors.Is(last, repo.ErrTimeout) {
			t.Errorf("stopped at %d: %d nodes, %v", at, n, last)
		}
	}
}

// A loop that is left at any node, by a break or a panic, leaves no goroutine and no open range.
func TestLeft(t *testing.T) {
	onShapes(t, func(t *testing.T, shape string) {
		var c counter
		store := repo.NewStore(memory.New(nil), c.options())
		defer store.Close()
		g := build(t, store, shape, star(120))
		before := runtime.NumGoroutine()
		leave := func(at int, how func()) {
			defer func() { _ = recover() }()
			for range g.BreadthFirst(t.Context(), []string{"s"}) {
				if at--; at == 0 {
					how()
					break
				}
			}
		}
		for at := 1; at < 241; at++ {
			leave(at, func() {})
			leave(at, func() { panic("out") })
			if c.now != 0 {
				t.Fatalf("%d operations are under way after node %d", c.now, at)
			}
		}
		after := runtime.NumGoroutine()
		for begun := time.Now(); after > before && time.Since(begun) < 3*time.Second; after = runtime.NumGoroutine() {
			time.Sleep(time.Millisecond) // one that has done its work ends a little later
		}
		if after > before {
			t.Errorf("%d goroutines, %d before", after, before)
		}
	})
}

// A panic of the program's own function comes out of the loop.
func TestPanic(t *testing.T) {
	store := newStore(t)
	build(t, store, "edges", star(20))
	g, err := graph.OfEdges(openRepo[link](t, store, linkSchema), graph.Edges[link]{
		From: "from", To: "to", Ends: func(l *link) (string, string) { panic("of " + l.From) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); p != "of s" {
			t.Errorf("got the panic %v", p)
		}
	}()
	_, err = count(t.Context(), g, []string{"s"})
	t.Error("no panic, but", err)
}

// A fuse is a text that panics when it is read.
type fuse string

func (f fuse) MarshalText() ([]byte, error) { return []byte(f), nil }

func (f *fuse) UnmarshalText(text []byte) error { panic("read " + string(text)) }

// A panic of the program's own code in a goroutine that reads comes out of the loop, too.
func TestPanicOfReader(t *testing.T) {
	type fused struct {
		From string `repo:"from"`
		To   string `repo:"to"`
		Note fuse   `repo:"note"`
	}
	r := openRepo[fused](t, newStore(t), repo.Schema{Collection: "fused", Partition: []string{"from"}, Sort: []string{"to"}})
	insert(t, r, slices.Values([]fused{{"a", "c", "it"}, {"b", "c", "it"}}))
	g, err := graph.OfEdges(r, graph.Edges[fused]{From: "from", To: "to", Ends: func(f *fused) (string, string) { return f.From, f.To }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); p != "read it" {
			t.Errorf("got the panic %v", p)
		}
	}()
	_, err = count(t.Context(), g, []string{"a", "b"})
	t.Error("no panic, but", err)
}

// Many calls at once on one graph, while edges come and go, end, yield nothing twice and fail in no way.
func TestAtOnce(t *testing.T) {
	store := newStore(t)
	want := star(40)
	g := build(t, store, "edges", want)
	links := openRepo[link](t, store, linkSchema)
	ctx, stop := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				l := link{fmt.Sprint("far", (i*7+w)%40), fmt.Sprint("near", i%40), w}
				if err := errors.Join(links.Put(t.Context(), &l), links.Delete(t.Context(), repo.Key{l.From, l.To, l.N})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for r := range 4 {
		readers.Go(func() {
			for range 40 {
				seen := map[string]bool{}
				for v, err := range g.BreadthFirst(t.Context(), []string{"s"}, graph.Along(directions[r%3])) {
					if err != nil || seen[v.Node] {
						t.Errorf("%+v, seen %t: %v", v, seen[v.Node], err)
					}
					seen[v.Node] = true
				}
				if path, err := g.ShortestPath(t.Context(), "s", "far9"); !slices.Equal(path, []string{"s", "near9", "far9"}) || err != nil {
					t.Error(path, err)
				}
				_, cycleErr := g.Cycle(t.Context())
				list, err := g.Components(t.Context())
				if len(list) != 1 || errors.Join(cycleErr, err) != nil {
					t.Error(len(list), cycleErr, err)
				}
			}
		})
	}
	readers.Wait()
	stop()
	writers.Wait()
}

// Where keeps to a part of a collection.
func TestWhere(t *testing.T) {
	type follow struct {
		Tenant string `repo:"tenant"`
		From   string `repo:"from"`
		To     string `repo:"to"`
	}
	store := newStore(t)
	r := openRepo[follow](t, store, repo.Schema{
		Collection: "follows", Partition: []string{"tenant"}, Sort: []string{"from", "to"},
		Indexes: []repo.Index{{Partition: []string{"tenant"}, Sort: []string{"to", "from"}}},
	})
	insert(t, r, slices.Values([]follow{{"a", "1", "2"}, {"a", "2", "3"}, {"b", "2", "1"}, {"b", "3", "9"}}))
	g, err := graph.OfEdges(r, graph.Edges[follow]{
		From: "from", To: "to", Where: repo.Where("tenant", "a"), Ends: func(f *follow) (string, string) { return f.From, f.To },
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := count(t.Context(), g, []string{"2"}, graph.Along(graph.Both)); n != 3 || err != nil {
		t.Error(n, err)
	}
	if cycle, err := g.Cycle(t.Context()); cycle != nil || err != nil {
		t.Error(cycle, err)
	}
	if list, err := g.Components(t.Context()); fmt.Sprint(list) != "[[1 2 3]]" || err != nil {
		t.Error(list, err)
	}
}

// Key and Where keep to a part of a collection of nodes.
func TestListsWhere(t *testing.T) {
	type part struct {
		Tenant string   `repo:"tenant"`
		ID     string   `repo:"id"`
		Needs  []string `repo:"needs"`
	}
	r := openRepo[part](t, newStore(t), repo.Schema{
		Collection: "parts", Partition: []string{"tenant"}, Sort: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"tenant"}, Sort: []string{"needs[]"}}},
	})
	insert(t, r, slices.Values([]part{{"a", "1", []string{"2", "2"}}, {"a", "2", []string{"3"}}, {"b", "2", []string{"1"}}, {"b", "9", nil}}))
	g, err := graph.OfLists(r, graph.Lists[part]{
		List:  func(p *part) (string, []string) { return p.ID, p.Needs },
		Key:   func(id string) repo.Key { return repo.Key{"a", id} },
		Field: "needs", Where: repo.Where("tenant", "a"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := count(t.Context(), g, []string{"3"}, graph.Along(graph.In)); n != 3 || err != nil {
		t.Error(n, err)
	}
	if cycle, err := g.CycleFrom(t.Context(), []string{"1"}); cycle != nil || err != nil {
		t.Error(cycle, err)
	}
	if list, err := g.Components(t.Context()); fmt.Sprint(list) != "[[1 2 3]]" || err != nil {
		t.Error(list, err)
	}
}

// A misspelt field is refused, and no error advises what a graph does not have.
func TestMisspeltEnds(t *testing.T) {
	links := openRepo[link](t, newStore(t), linkSchema)
	for _, tt := range []struct{ from, to, text string }{
		{"from", "too", `To: field "too" is not declared`}, {"form", "to", `field "form" is not declared`},
	} {
		_, err := graph.OfEdges(links, graph.Edges[link]{From: tt.from, To: tt.to, Ends: ends})
		isKind(t, err, repo.ErrInvalid)
		if err == nil || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "Scan") {
			t.Errorf("%s, %s: %v, want %q in it, and no Scan", tt.from, tt.to, err, tt.text)
		}
	}
}
