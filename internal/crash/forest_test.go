package crash_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// A leaf is a node of the trees on which programs are killed.
type leaf struct {
	tree.Node
	Text string `repo:"text"`
}

var everyStrategy = []tree.Strategy{tree.Adjacency, tree.Path, tree.Ancestors, tree.NestedSets, tree.Document}

// forestSchema returns that of a forest whose new trees have a strategy.
func forestSchema(collection string, strategy tree.Strategy) tree.Schema {
	return tree.Schema{Collection: collection, Strategy: strategy, Also: everyStrategy}
}

// A treeOrder is what a process does to a tree: it inserts a node, and then makes a long change, in which it is killed
// while the commit of a number is under way.
type treeOrder struct {
	URL, Collection, Tree string

	Strategy tree.Strategy // of a tree that is loaded
	Width    int           // and how many children its nodes have

	Probe  string // the node that is inserted, below b
	Do, To string // what is done, and the new parent or the strategy
	Commit int
	Delay  time.Duration // after the commit has begun; 0 is before it is sent
}

// obey returns only if what is ordered cannot be done.
func (o *treeOrder) obey() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := backends.OpenDriver(ctx, o.URL)
	if err != nil {
		return err
	}
	m := &mortal{Store: s}
	f, err := tree.Open[leaf](ctx, repo.NewStore(m, nil), forestSchema(o.Collection, o.Strategy), repo.WithoutDefine())
	if err != nil {
		return err
	}
	tr := f.Tree(o.Tree)
	if o.Probe != "" {
		if err := tr.Insert(ctx, tree.Under("b"), &leaf{Node: tree.Node{ID: o.Probe}}); err != nil {
			return err
		}
	}
	m.dies(o.Commit, o.Delay)
	switch o.Do {
	case "move":
		err = tr.Move(ctx, "x", tree.Under(o.To))
	case "delete":
		err = tr.DeleteSubtree(ctx, "x")
	case "convert":
		err = tr.Convert(ctx, tree.Strategy(o.To))
	case "load":
		_, err = tr.Load(ctx, leaves(o.Width))
	default:
		err = errors.New("no such change")
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Println("done"); err != nil {
		return err
	}
	return die()
}

// die ends this process as kill -9 does.
func die() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		return err
	}
	select {} // for as long as that takes
}

// A mortal store kills its process while a commit is under way.
type mortal struct {
	driver.Store

	mu    sync.Mutex
	armed bool
	left  int
	delay time.Duration
}

func (m *mortal) dies(commit int, delay time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.armed, m.left, m.delay = true, commit, delay
}

// Commit commits, and may be the last thing that the process does.
func (m *mortal) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	m.mu.Lock()
	now := m.armed && m.left == 0
	m.left--
	delay := m.delay
	m.mu.Unlock()
	switch {
	case now && delay == 0:
		return nil, die()
	case now:
		time.AfterFunc(delay, func() { _ = die() })
	}
	return m.Store.Commit(ctx, token, ops)
}

// levels is how many there are below x. With a width of 10 there are 10 + 100 + 1,000 nodes in them.
const levels = 3

// width is how many children each node has: fewer where programs are killed once only.
func width() int {
	if *treeKills > 1 {
		return 10
	}
	return 6
}

// leaves yields roots a, b and, below a, x with all that is below it, parents first.
func leaves(width int) func(yield func(leaf, error) bool) {
	return func(yield func(leaf, error) bool) {
		for _, one := range planned(width) {
			if !yield(leaf{Node: tree.Node{ID: one[0], Parent: one[1]}, Text: "of " + one[0]}, nil) {
				return
			}
		}
	}
}

// planned returns the nodes of a tree in the order in which they are loaded, each with its parent.
func planned(width int) [][2]string {
	list := [][2]string{{"a", ""}, {"b", ""}, {"x", "a"}}
	level := []string{"x"}
	for range levels {
		var next []string
		for _, parent := range level {
			for i := range width {
				id := fmt.Sprintf("%s%d", strings.TrimPrefix(parent, "x"), i)
				list, next = append(list, [2]string{"n" + strings.TrimPrefix(id, "n"), parent}), append(next, "n"+strings.TrimPrefix(id, "n"))
			}
		}
		level = next
	}
	return list
}
