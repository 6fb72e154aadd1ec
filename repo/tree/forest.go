package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A Forest is a collection of trees, whose nodes are records of type T. It may be used by many goroutines at once.
// Make one with [Open].
type Forest[T any] struct {
	store    *repo.Store
	schema   Schema
	nodes    *repo.Repo[T] // nil if the forest is only looked at
	reads    reads[T]
	whole    *repo.Repo[map[string]any] // the nodes with the fields that T lacks, where documents are made of them or updates taken back
	links    *repo.View[Node]           // of the nodes
	places   *repo.View[placed]         // of the index of children
	names    *repo.View[named]          // of any index
	guards   *repo.Repo[guard]
	versions *repo.View[guardVersion] // of the guards
	order    *order                   // nil if the program orders siblings
	shape    shape
	most     int // writes of a group

	follows   bool // the store follows references by itself
	uncertain bool // it may not tell what became of a commit
}

// reads is how nodes are read: by a repository, or as [Inspect] does.
type reads[T any] interface {
	Get(ctx context.Context, key repo.Key) (T, error)
	GetMany(ctx context.Context, keys []repo.Key) ([]T, []bool, error)
	Find(ctx context.Context, q repo.Query) iter.Seq2[T, error]
	Page(ctx context.Context, q repo.Query, cursor string) (repo.Page[T], error)
	Scan(ctx context.Context, q repo.Query) iter.Seq2[T, error]
	Count(ctx context.Context, q repo.Query) (int, error)
}

// mostWrites is how many writes a group has at most where the store allows more.
const mostWrites = 100

// Open opens the collection of a schema, which is made if it is not there. T is a struct that embeds a [Node].
func Open[T any](ctx context.Context, store *repo.Store, schema Schema, opts ...repo.OpenOption) (*Forest[T], error) {
	f := &Forest[T]{store: store, schema: schema}
	err := f.open(ctx, func(schema repo.Schema) (err error) {
		if f.nodes, err = repo.Open[T](ctx, store, schema, opts...); err != nil {
			return err
		}
		for _, x := range schema.Indexes { // by which strategies read
			if x.Name == "" {
				continue // the user's own
			}
			if err := f.nodes.Ready(ctx, x.Name); err != nil {
				return err
			}
		}
		f.reads = f.nodes
		if f.names, err = repo.ViewOf[named](f.nodes); err != nil {
			return err
		}
		if f.links, err = repo.ViewOf[Node](f.nodes); err != nil {
			return err
		}
		if f.places, err = repo.ViewOf[placed](f.nodes); err != nil || !f.schema.has(Document) && f.order == nil {
			return err
		}
		f.whole, err = wholeOf(ctx, store, f.schema.Collection)
		return err
	}, opts...)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// wholeOf opens records with all fields that any program has declared, and others.
func wholeOf(ctx context.Context, store *repo.Store, collection string) (*repo.Repo[map[string]any], error) {
	schema, err := repo.SchemaOf(ctx, store, collection)
	if err != nil {
		return nil, err
	}
	return repo.Open[map[string]any](ctx, store, schema, repo.WithoutDefine())
}

// open checks the schema, and opens the nodes, unless they are open, and the guards.
func (f *Forest[T]) open(ctx context.Context, nodes func(repo.Schema) error, opts ...repo.OpenOption) (err error) {
	facts := f.store.Facts()
	if err := f.check(&facts); err != nil {
		return f.schema.failed("open", err)
	}
	if nodes != nil {
		f.follows = f.schema.follows(f.store)
		if err := f.mayMake(ctx, facts, opts...); err != nil {
			return err
		}
		if err := nodes(f.schema.nodes(f.follows)); err != nil {
			return err
		}
	}
	if err := f.openGuards(ctx, opts...); err != nil {
		return err
	}
	if f.versions, err = repo.ViewOf[guardVersion](f.guards); err != nil {
		return err
	}
	if err := f.remember(ctx); err != nil {
		return err
	}
	f.most, f.uncertain = mostWrites, facts.Uncertain
	if most := facts.MaxOps; most > 0 {
		f.most = min(f.most, most-1) // and the guard
	}
	return nil
}

// mayMake says what would be wrong with the guards after the nodes were made.
func (f *Forest[T]) mayMake(ctx context.Context, facts driver.Facts, opts ...repo.OpenOption) error {
	if f.store == nil {
		return nil // which repo.Open refuses
	}
	if err := cmp.Or(f.checkBoth(facts), f.lacks(ctx)); err != nil {
		return err
	}
	_, err := repo.SchemaOf(ctx, f.store, f.schema.guards().Collection)
	if errors.Is(err, repo.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = f.openGuards(ctx, opts...)
	}
	if err != nil {
		return err
	}
	is, err := f.guards.Get(ctx, repo.Key{""})
	if errors.Is(err, repo.ErrNotFound) {
		return nil
	}
	return f.sortedAs(&is, err)
}

func (f *Forest[T]) openGuards(ctx context.Context, opts ...repo.OpenOption) (err error) {
	if f.guards == nil {
		f.guards, err = repo.Open[guard](ctx, f.store, f.schema.guards(), opts...)
	}
	return err
}

// lacks says which strategies of the stored nodes a schema lacks. A program could keep their indexes in step, but not what
// these strategies keep in the nodes.
func (f *Forest[T]) lacks(ctx context.Context) error {
	stored, err := repo.SchemaOf(ctx, f.store, f.schema.Collection)
	if errors.Is(err, repo.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	is, err := schemaOf(&stored)
	if err != nil {
		return nil // they are no nodes, which opening them says
	}
	switch missing := slices.DeleteFunc(is.Also, func(s Strategy) bool { return s == Document || f.schema.has(s) }); {
	case len(missing) > 0:
		return f.schema.failed("open", fmt.Errorf("the forest has the strategies %q, which the schema lacks; name them in Also, or Convert the trees and then remove their indexes with repo.DropIndex: %w", missing, repo.ErrSchema))
	case is.Name != "" && f.schema.Name == "":
		return f.schema.failed("open", fmt.Errorf("the forest finds nodes by the field %q, which the schema lacks; give it as Name: %w", is.Name, repo.ErrSchema))
	}
	return nil
}

// remember compares the fields by which siblings are sorted with those that the store has, which it has of the first
// program.
func (f *Forest[T]) remember(ctx context.Context) error {
	is, err := f.guards.Get(ctx, repo.Key{""})
	if errors.Is(err, repo.ErrNotFound) && f.nodes != nil {
		is.Sorted = f.schema.Sorted
		if err = f.guards.Insert(ctx, &guard{Sorted: is.Sorted}); errors.Is(err, repo.ErrExists) {
			is, err = f.guards.Get(ctx, repo.Key{""})
		}
	}
	if f.nodes == nil { // it is only looked at
		f.schema.Sorted = is.Sorted
		if errors.Is(err, repo.ErrNotFound) {
			return nil
		}
	}
	return f.sortedAs(&is, err)
}

// sortedAs is ErrSchema if a guard, which was read without an error, has other fields than the schema.
func (f *Forest[T]) sortedAs(is *guard, err error) error {
	if err == nil && !slices.Equal(is.Sorted, f.schema.Sorted) {
		err = fmt.Errorf("siblings are sorted by %q, and the schema has %q; open it with the same, or Load the trees into another collection: %w", is.Sorted, f.schema.Sorted, repo.ErrSchema)
	}
	if err != nil {
		return f.schema.failed("open", err)
	}
	return nil
}

// Check reports, as [Open] does, what is wrong with a schema for records of type T on a store with the given facts. It
// touches no store.
func Check[T any](facts driver.Facts, schema Schema) error {
	f := &Forest[T]{schema: schema}
	err := f.check(&facts)
	if err == nil {
		err = f.schema.able(&facts)
	}
	if err != nil {
		return f.schema.failed("check", err)
	}
	return f.checkBoth(facts)
}

// checkBoth is [repo.Check] of the nodes and, if these are well, of the guards.
func (f *Forest[T]) checkBoth(facts driver.Facts) error {
	if err := f.checkName(); err != nil {
		return f.schema.failed("check", err)
	}
	if err := repo.Check[T](facts, f.schema.nodes(false)); err != nil {
		return err
	}
	return repo.Check[guard](facts, f.schema.guards())
}

// checkName is ErrSchema unless the nodes have names that are text, as Find takes them.
func (f *Forest[T]) checkName() error {
	name := f.schema.Name
	if name == "" {
		return nil
	}
	var names []string
	for _, field := range f.shape.fields {
		switch {
		case field.Name != name:
			names = append(names, field.Name)
		case field.Kind != driver.String && field.Kind != driver.None: // which may hold a string
			return fmt.Errorf("Schema.Name is %q, a field of kind %s, and names are strings: %w", name, field.Kind, repo.ErrSchema)
		default:
			return nil
		}
	}
	if f.shape.extra != nil { // it may be among the others
		return nil
	}
	return fmt.Errorf("Schema.Name is %q, and %s has no such field; it has %q: %w", name, reflect.TypeFor[T](), names, repo.ErrSchema)
}

// check says what is wrong with the records or the schema, or why the store cannot keep them.
func (f *Forest[T]) check(facts *driver.Facts) (err error) {
	if err := embeds(reflect.TypeFor[T]()); err != nil {
		return err
	}
	if err := f.schema.check(); err != nil {
		return err
	}
	if f.store != nil {
		if err := f.schema.able(facts); err != nil {
			return err
		}
	}
	if f.order, err = orderOf[T](f.schema.Sorted); err != nil {
		return err
	}
	f.shape, err = shapeOf[T]()
	return err
}

// group returns a new group, of which the records lie where those of a tree do.
func (f *Forest[T]) group() *repo.Group {
	if f.schema.Spread {
		return f.store.Group(repo.AcrossPartitions())
	}
	return f.store.Group()
}

func (s *Schema) failed(op string, err error) error {
	return &repo.Error{Op: op, Collection: s.Collection, Err: err}
}

// Nodes returns the repository of the nodes: queries by the indexes of the schema find nodes of any tree, but not those
// of a [Document], which are no records. Write nodes by the methods of [Tree] only, their own fields by [Tree.Update]:
// the repository's writes do not keep the tree, of which [Tree.Verify] says what is wrong then.
func (f *Forest[T]) Nodes() *repo.Repo[T] {
	if f == nil {
		return nil
	}
	return f.nodes
}

// Tree returns a tree of the forest. Nothing is read or written: a tree is there when it has a node.
func (f *Forest[T]) Tree(name string) *Tree[T] {
	t := &Tree[T]{base[T]{forest: f, name: name, boxed: name}}
	b := &t.base
	nodes := repo.Where("tree", name)
	b.byPlace, b.fromLast = nodes.Order("place"), nodes.Order("-place")
	b.guards, b.records, b.documents, b.listing = guards[T]{b}, records[T]{b}, documents[T]{b}, listing[T]{b}
	b.following, b.spots, b.writes, b.numbering, b.conversion = following[T]{b}, spots[T]{b}, writes[T]{b}, numbering[T]{b}, conversion[T]{b}
	return t
}

// Trees yields the names of the trees that have, or had, nodes, in no order.
func (f *Forest[T]) Trees(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := f.Tree("x").made(); err != nil {
			yield("", (&Schema{}).failed("trees", err))
			return
		}
		for chunk, err := range f.guards.Walk(ctx, "") {
			if err != nil {
				yield("", f.schema.failed("trees", err))
				return
			}
			for i := range chunk.Items {
				if name := chunk.Items[i].Tree; name != "" && !yield(name, nil) {
					return
				}
			}
		}
	}
}

// A Tree is the nodes of a forest that have the same name of a tree: one root or several, with what is below them.
// It may be used by many goroutines at once. Make one with [Forest.Tree].
type Tree[T any] struct{ base[T] }

// A base is what works on a tree. Its parts embed it, and so few methods are its own: the compiler makes each of them
// again for each part and each T.
type base[T any] struct {
	forest *Forest[T]
	name   string
	boxed  any // the name, as the first part of all keys

	byPlace, fromLast repo.Query // of the tree's nodes, of which each list of children is a part

	guards     guards[T]
	records    records[T]
	documents  documents[T]
	listing    listing[T]
	following  following[T]
	spots      spots[T]
	writes     writes[T]
	numbering  numbering[T]
	conversion conversion[T]
}

// Name returns the name of the tree.
func (t *Tree[T]) Name() string {
	if t == nil {
		return ""
	}
	return t.name
}

// Exists reports whether the tree has, or had, a node.
func (t *Tree[T]) Exists(ctx context.Context) (bool, error) {
	g, err := t.guards.guard(ctx)
	return err == nil && !g.Version.IsZero(), t.failed("exists", "", err)
}

// made is ErrInvalid for a Tree that no Forest made.
func (t *base[T]) made() error {
	if t == nil || t.forest == nil || t.forest.reads == nil {
		return fmt.Errorf("a Tree that is zero; make one with Forest.Tree: %w", repo.ErrInvalid)
	}
	if t.name == "" {
		return fmt.Errorf("a tree without a name: %w", repo.ErrInvalid)
	}
	return nil
}

// writable is ErrUnsupported for a tree that is only looked at.
func (t *base[T]) writable() error {
	if err := t.made(); err != nil || t.forest.nodes != nil {
		return err
	}
	return fmt.Errorf("the forest was opened by Inspect: %w", repo.ErrUnsupported)
}

func (t *base[T]) key(id string) repo.Key { return repo.Key{t.boxed, id} }
