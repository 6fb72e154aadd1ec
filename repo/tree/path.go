package tree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// path is the strategy that keeps the places and IDs from the root to each node, as the key of an order has them: so
// the path of a node begins with that of its parent, and the order of paths is depth first.
type path[T any] struct{}

var segment = []driver.Column{{Name: "place", Kind: driver.String}, {Name: "id", Kind: driver.String}}

func (n *Node) pathBelow(parent *Node) string {
	above := ""
	if parent != nil {
		above = parent.Path
	}
	parts, err := driver.AppendParts([]byte(above), segment, []driver.Value{driver.StringValue(n.Place), driver.StringValue(n.ID)})
	if err != nil {
		return "" // the node's own key cannot be made either
	}
	return string(parts)
}

// ids returns the IDs of a path.
func ids(path string) (list []string, err error) {
	list = make([]string, 0, usualDepth)
	for vals := make([]driver.Value, 0, 2); path != ""; list = append(list, vals[1].Str()) {
		if vals, path, err = driver.ParseParts(vals[:0], path, segment); err != nil {
			return nil, notAPath(err)
		}
	}
	return list, nil
}

// levelsOf returns how many IDs a path has.
func levelsOf(path string) (n int, err error) {
	for ; path != ""; n++ {
		_, rest, ok := driver.CutParts(path, segment)
		if !ok {
			return 0, notAPath(errNoEnd)
		}
		path = rest
	}
	return n, nil
}

func notAPath(why error) error {
	return fmt.Errorf("the path of a node is none; see Verify and Repair of the tree: %w: %w", repo.ErrCorrupt, why)
}

var errNoEnd = errors.New("its last part has no end")

func (path[T]) moves(was, next *Node) *pending {
	if was.Path == next.Path {
		return nil
	}
	above, err := ids(was.Path)
	if err != nil || len(above) == 0 {
		above = []string{was.ID}
	}
	return &pending{Do: doMove, Node: was.ID, Place: was.Place, From: was.Path, To: next.Path, Was: above[:len(above)-1]}
}

func (path[T]) outside(_ context.Context, _ *base[T], n, parent *Node) error {
	if parent != nil && strings.HasPrefix(parent.Path, n.Path) {
		return ErrBelowItself
	}
	return nil
}

// olds returns the paths that what lies below the node of a pending change may still have.
func (p *pending) olds() []string {
	if p == nil {
		return nil
	}
	return slices.DeleteFunc([]string{p.From, p.Late}, func(old string) bool { return old == "" })
}

// pathOf returns the path of a node as it is when what is pending is done.
func (p *pending) pathOf(n *Node) (string, error) {
	for _, old := range p.olds() {
		switch {
		case !strings.HasPrefix(n.Path, old):
		case p.Do == doRemove:
			return "", errGone
		default:
			return p.To + n.Path[len(old):], nil
		}
	}
	return n.Path, nil
}

func (path[T]) above(ctx context.Context, t *base[T], g *guard, id string) ([]string, error) {
	n, err := t.records.present(ctx, id)
	if err != nil {
		return nil, err
	}
	return g.Pending.idsAbove(n)
}

// idsAbove returns the IDs of the ancestors of a node as they are when what is pending is done.
func (p *pending) idsAbove(n *Node) ([]string, error) {
	at, err := p.pathOf(n)
	if err != nil {
		return nil, err
	}
	list, err := ids(at)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[:len(list)-1], nil
}

// ancestors are of one state if, while nothing was pending, the path of each is how that of the node begins: so was the
// node's when the guard was read, or is since.
func (s path[T]) ancestors(ctx context.Context, t *base[T], g *guard, id string) ([]T, error) {
	n, err := t.records.present(ctx, id)
	if err != nil {
		return nil, err
	}
	above, err := g.Pending.idsAbove(n)
	if err != nil {
		return nil, err
	}
	list, err := t.records.all(ctx, above)
	g.oneState = g.Pending == nil && n.isBelow(above)
	for i := range list {
		at := nodeOf(&list[i])
		g.oneState = g.oneState && at.State != gone && at.Path != "" && strings.HasPrefix(n.Path, at.Path)
	}
	return list, err
}

// under returns the query of the nodes whose paths begin with one.
func (t records[T]) under(path string) repo.Query {
	return repo.Where("tree", t.name).Prefix("path", path).Order("path")
}

// below reads a range. While a move is pending the nodes that have their old path are read first: each is in one of
// the two ranges at every instant, and what was moved in between is in both.
func (path[T]) below(ctx context.Context, t *base[T], g *guard, n *Node, depth int, emit emitter[T]) error {
	top := ""
	if n != nil {
		var err error
		if top, err = g.Pending.pathOf(n); err != nil {
			return err
		}
	}
	late, err := t.records.late(ctx, g.Pending, top)
	if err != nil {
		return err
	}
	send := func(rec *T, at string) error {
		if at == top {
			return nil
		}
		levels, err := levelsOf(at[len(top):])
		if err != nil || depth > 0 && levels > depth {
			return err
		}
		return emit(rec, levels)
	}
	last, olds, rec := "", g.Pending.olds(), new(T) // one record for all
	for found, err := range t.forest.reads.Find(ctx, t.records.under(top)) {
		if err != nil {
			return err
		}
		*rec = found
		at, state := nodeOf(rec).Path, nodeOf(rec).State
		if at <= last {
			return t.guards.disordered(ctx, g)
		}
		last = at
		for len(late) > 0 && late[0].at <= at {
			if late[0].at < at {
				if err := send(&late[0].rec, late[0].at); err != nil {
					return err
				}
			}
			late = late[1:]
		}
		if state == gone || slices.ContainsFunc(olds, func(old string) bool { return strings.HasPrefix(at, old) }) {
			continue
		}
		if err := send(rec, at); err != nil {
			return err
		}
	}
	for i := range late {
		if err := send(&late[i].rec, late[i].at); err != nil {
			return err
		}
	}
	return nil
}

// disordered says why a range of paths was not in their order: a node was found by its old path and has its new one, or
// what is stored is wrong.
func (t guards[T]) disordered(ctx context.Context, g *guard) error {
	if g.Pending != nil {
		return errAgain
	}
	return t.stillSo(ctx, g, fmt.Errorf("the paths of nodes are not in their order; see Verify and Repair of the tree, and repo.Verify and Rebuild of its index %q: %w", pathIndex, repo.ErrCorrupt))
}

// A moved is a node that is to have another path than it has.
type moved[T any] struct {
	rec T
	at  string
}

// late reads the nodes that a pending move is to bring below a path, and that have their old path.
func (t records[T]) late(ctx context.Context, p *pending, top string) (list []moved[T], err error) {
	if p == nil || p.Do != doMove || !strings.HasPrefix(p.To, top) && !strings.HasPrefix(top, p.To) {
		return nil, nil
	}
	for _, old := range p.olds() {
		for rec, err := range t.forest.reads.Find(ctx, t.under(old+top[min(len(p.To), len(top)):])) {
			if err != nil {
				return nil, err
			}
			list = append(list, moved[T]{rec, p.To + nodeOf(&rec).Path[len(old):]})
		}
	}
	if p.Late != "" {
		slices.SortFunc(list, func(a, b moved[T]) int { return strings.Compare(a.at, b.at) })
	}
	return list, nil
}

// finish rewrites or removes the nodes below one, as long as there are any with an old path: a child that came
// meanwhile has it, too, since its parent had.
func (s path[T]) finish(ctx context.Context, t *base[T], g *guard) error {
	p := g.Pending
	for _, old := range p.olds() {
		has := func(n *Node) bool { return strings.HasPrefix(n.Path, old) }
		err := t.guards.leave(ctx, g, t.records.under(old), has, func(list []Node) error {
			if p.Do == doRemove {
				return t.guards.deleteAll(ctx, g, list)
			}
			return t.guards.rewrite(ctx, g, list, func(n *Node) {
				if has(n) {
					n.Path = p.To + n.Path[len(old):]
				}
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
