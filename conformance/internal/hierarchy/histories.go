package hierarchy

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// Histories of trees: clients of two programs do anything to few nodes, and what each asked, was told, and when, must
// be explained by some order of the calls on a tree that one program has alone.
const (
	programs       = 2
	clients        = 4
	callsOfClient  = 6
	nodesOfHistory = 6
	fewHistories   = 4
	planted        = "a b c<a d<a e<c"
)

// A history is what clients saw of a tree.
type history struct {
	*env
	trees    []*tree.Tree[node] // the same, of several programs
	ordered  bool               // siblings are compared in their order
	converts []tree.Strategy    // to which clients bring the tree
	rng      func(client int) *rand.Rand
	began    time.Time
	first    state

	mu    sync.Mutex
	calls []*call
}

// histories makes histories of four forms: with inserts or without, and with conversions or without. Where nodes are
// inserted the order of siblings is not compared: a position is among the neighbours that Insert reads before it
// commits.
func histories(ctx context.Context, e *env) {
	forests := [2][]*tree.Forest[node]{
		e.programs(ctx, e.collection(), e.kind.schema("")),
		e.programs(ctx, e.kind.convertible(), e.kind.schema("", e.kind.strategies()...)),
	}
	for n := range max(fewHistories, e.Histories) {
		h := &history{env: e, ordered: n%2 == 1, began: time.Now()}
		h.rng = func(client int) *rand.Rand {
			return rand.New(rand.NewPCG(e.Seed, uint64(n*(clients+1)+client)))
		}
		if n%4 >= 2 {
			h.converts = e.kind.strategies()
		}
		for _, f := range forests[n%4/2] {
			h.trees = append(h.trees, f.Tree(fmt.Sprint(e.Tag, "h", n)))
		}
		h.plant(ctx, h.trees[0], planted)
		h.first = state{tree: "a=a .c=c ..e=e .d=d b=b ", strategy: e.kind.strategy}
		e.Parallel(clients, func(client int) error {
			h.use(ctx, client)
			return nil
		})
		h.last(ctx)
		h.explain()
	}
}

// programs opens a forest as several programs do.
func (e *env) programs(ctx context.Context, collection string, schema tree.Schema) (list []*tree.Forest[node]) {
	open := func(name string) (*tree.Forest[node], error) {
		schema.Collection = name
		return tree.Open[node](ctx, repo.NewStore(double.Jittery{Store: e.Store}, nil), schema)
	}
	rule.SharedAs(ctx, e, collection, func(name string) (*tree.Forest[node], error) {
		e.DropsCollection(name + "_trees")
		return tree.Open[node](ctx, e.Repo, tree.Schema{Collection: name, Strategy: schema.Strategy, Also: schema.Also, Spread: schema.Spread})
	})
	for range programs {
		f, err := open(e.ID + "_" + collection)
		e.OK("open of a forest by another program", err)
		list = append(list, f)
	}
	return list
}

// use is a client that does anything.
func (h *history) use(ctx context.Context, client int) {
	rng, tr := h.rng(client), h.trees[client%programs]
	id := func() string { return string(rune('a' + rng.IntN(nodesOfHistory))) }
	for n := range callsOfClient {
		c := &call{client: client, id: id(), other: id(), text: fmt.Sprintf("%d.%d", client, n), ordered: h.ordered}
		c.at = spot{[]string{"under", "first under", "before", "after"}[rng.IntN(4)], id()}
		if !c.at.beside() && rng.IntN(4) == 0 {
			c.at.at = ""
		}
		c.do = verbs[rng.IntN(len(verbs))]
		switch {
		case c.do == "insert" && h.ordered:
			c.do = "move"
		case c.do == "convert" && h.converts == nil:
			c.do = "lift"
		case c.do == "convert":
			c.id = string(h.converts[rng.IntN(len(h.converts))])
		case (c.do == "outline" || c.do == "children") && rng.IntN(2) == 0:
			c.id = ""
		}
		func() {
			ctx := ctx
			if rng.IntN(8) == 0 {
				hurried, cancel := rule.Soon(ctx, rng)
				defer cancel()
				ctx = hurried
			}
			h.do(ctx, tr, c)
		}()
	}
}

// verbs are what a client does, as often as they are here.
var verbs = strings.Split("insert,insert,insert,insert,move,move,move,move,delete,delete,delete subtree,lift,update,convert,"+
	"get,ancestors,ancestors,is below,outline,outline,outline,children,strategy", ",")

// do makes a call and notes it.
func (h *history) do(ctx context.Context, tr *tree.Tree[node], c *call) {
	c.began = h.now()
	children, err := c.make(ctx, tr)
	c.ended, c.status = h.now(), statusOf(c.do, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	c.number = len(h.calls)
	if c.do != "children" {
		h.calls = append(h.calls, c)
		return
	}
	c.do = "child" // each is a read of its own: only of Descendants is all of one time
	for i := range nodesOfHistory {
		one := *c
		one.other = string(rune('a' + i))
		one.got = fmt.Sprint(slices.Contains(children, one.other))
		one.number = len(h.calls)
		h.calls = append(h.calls, &one)
	}
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// make calls the tree, notes what was read, and returns the children if they were asked for.
func (c *call) make(ctx context.Context, tr *tree.Tree[node]) (children []string, err error) {
	switch c.do {
	case "insert":
		err = tr.Insert(ctx, c.at.position(), &node{Node: tree.Node{ID: c.id}, Text: c.text})
	case "move":
		err = tr.Move(ctx, c.id, c.at.position())
	case "delete":
		err = tr.Delete(ctx, c.id)
	case "delete subtree":
		err = tr.DeleteSubtree(ctx, c.id)
	case "lift":
		err = tr.Lift(ctx, c.id)
	case "update":
		_, err = tr.Update(ctx, c.id, func(n *node) error { n.Text = c.text; return nil })
	case "convert":
		err = tr.Convert(ctx, c.strategy())
	case "children":
		for n, failed := range tr.Children(ctx, c.id) {
			children, err = append(children, n.ID), failed
		}
	case "settle":
		err = tr.Settle(ctx)
	default:
		c.got, err = c.ask(ctx, tr)
	}
	return children, err
}

func (c *call) ask(ctx context.Context, tr *tree.Tree[node]) (string, error) {
	switch c.do {
	case "get":
		n, err := tr.Get(ctx, c.id)
		return n.Parent + " " + n.Text, err
	case "ancestors":
		list, err := tr.Ancestors(ctx, c.id)
		var ids []string
		for i := range list {
			ids = append(ids, list[i].ID)
		}
		return strings.Join(ids, " "), err
	case "is below":
		is, err := tr.IsBelow(ctx, c.id, c.other)
		return fmt.Sprint(is), err
	case "strategy":
		s, err := tr.Strategy(ctx)
		return string(s), err
	case "outline":
		text := ""
		for item, err := range tr.Descendants(ctx, c.id, 0) {
			if err != nil {
				return "", err
			}
			text += strings.Repeat(".", item.Depth-1) + item.Node.ID + " "
		}
		return text, nil
	}
	panic("no such call: " + c.do)
}

// last reads the whole tree when the clients have gone, by each program.
func (h *history) last(ctx context.Context) {
	for i, tr := range h.trees {
		h.sound(ctx, tr)
		h.do(ctx, tr, &call{client: clients + i, do: "settle", ordered: h.ordered})
		for _, do := range []string{"outline", "children", "strategy"} {
			h.do(ctx, tr, &call{client: clients + i, do: do, ordered: h.ordered})
		}
		for n := range nodesOfHistory {
			h.do(ctx, tr, &call{client: clients + i, do: "get", id: string(rune('a' + n)), ordered: h.ordered})
			h.do(ctx, tr, &call{client: clients + i, do: "ancestors", id: string(rune('a' + n)), ordered: h.ordered})
		}
	}
}

// explain ends the rule unless some order of the calls explains what clients were told.
func (h *history) explain() {
	told := 0
	for _, c := range h.calls {
		if c.status != nothing && c.status != unknown {
			told++
		}
		c.joined = slices.ContainsFunc(h.calls, func(other *call) bool {
			return other.does("delete", "delete subtree", "lift") && other != c && other.meets(c)
		})
		c.crowded = slices.ContainsFunc(h.calls, func(other *call) bool { return other.does("move", "lift") && other != c && other.meets(c) })
	}
	h.That(told*2 > len(h.calls), "half of the calls to be answered", "%d of %d", told, len(h.calls))
	want := "an order of the calls on a tree that explains their answers"
	switch found, all := explains(h.calls, h.first); {
	case !all:
		h.Broken(want, "none found among %d states:%s", mostStates, h)
	case !found:
		h.Broken(want, "none:%s", h)
	}
}

// does reports whether a call is one of some, and may be done.
func (c *call) does(some ...string) bool {
	return slices.Contains(some, c.do) && (c.status == done || c.status == unknown)
}

// meets reports whether calls were under way at the same time.
func (c *call) meets(other *call) bool {
	return c.began <= other.end() && other.began <= c.end()
}

// end returns when a call had its effect at the latest.
func (c *call) end() int64 {
	if c.status == unknown {
		return math.MaxInt64
	}
	return c.ended
}

func (h *history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n  first %q", h.first.tree)
	for _, c := range h.calls {
		fmt.Fprintf(&b, "\n  %9.3f to %9.3f ms  client %d  %s", float64(c.began)/1e6, float64(c.ended)/1e6, c.client, c)
	}
	return b.String()
}
