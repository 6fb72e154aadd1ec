package tree

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
)

// An Inspected is a node of a forest that [Inspect] opened.
type Inspected struct {
	Node
	Fields map[string]any `repo:",extra"` // the record's other fields
}

// Inspect opens a forest of which only the collection's name is known, as the store remembers it, to look at it: calls
// that write are ErrUnsupported. Nothing is changed in the store. A collection that is not there is ErrNotFound, and
// one of other records ErrSchema.
func Inspect(ctx context.Context, store *repo.Store, collection string) (*Forest[Inspected], error) {
	stored, err := repo.SchemaOf(ctx, store, collection)
	if err != nil {
		return nil, err
	}
	schema, err := schemaOf(&stored)
	if err != nil {
		return nil, schema.failed("inspect", err)
	}
	whole, err := repo.Open[map[string]any](ctx, store, stored, repo.WithoutDefine())
	if err != nil {
		return nil, err
	}
	f := &Forest[Inspected]{store: store, schema: schema, reads: inspected{whole}}
	if err := f.open(ctx, nil, repo.WithoutDefine()); err != nil {
		return nil, err
	}
	if f.links, err = repo.ViewOf[Node](whole); err != nil {
		return nil, err
	}
	f.places, err = repo.ViewOf[placed](whole)
	return f, err
}

// schemaOf returns the schema of a forest by that of its collection. By which fields siblings are sorted is not known.
func schemaOf(stored *repo.Schema) (Schema, error) {
	s := Schema{Collection: stored.Collection}
	s.Spread = len(stored.Sort) == 0
	own := map[string]func(x *repo.Index){
		childrenIndex:  func(*repo.Index) {},
		pathIndex:      func(*repo.Index) { s.Also = append(s.Also, Path) },
		ancestorsIndex: func(*repo.Index) { s.Also = append(s.Also, Ancestors) },
		numbersIndex:   func(*repo.Index) { s.Also = append(s.Also, NestedSets) },
		namesIndex:     func(x *repo.Index) { s.Name = x.Sort[max(0, len(x.Sort)-2)] },
	}
	for _, x := range stored.Indexes {
		if is := own[x.Name]; is != nil {
			is(&x)
		} else {
			s.Indexes = append(s.Indexes, x)
		}
	}
	if !s.Spread {
		s.Also = append(s.Also, Document) // which has no index
	}
	if err := s.check(); err != nil {
		return s, err
	}
	if want := s.nodes(false); !slices.Equal(want.Partition, stored.Partition) || !slices.ContainsFunc(stored.Indexes, func(x repo.Index) bool { return x.Name == childrenIndex }) {
		return s, fmt.Errorf("its records are no nodes of trees: it has no index %q by %s: %w", childrenIndex, strings.Join(want.Partition, ", "), repo.ErrSchema)
	}
	return s, nil
}

// inspected reads nodes of which only the store knows all fields.
type inspected struct{ whole *repo.Repo[map[string]any] }

// node returns a record as a node.
func (inspected) node(rec map[string]any) Inspected {
	var n Inspected
	for name, to := range map[string]*string{"tree": &n.Tree, "id": &n.ID, "parent": &n.Parent, "place": &n.Place, "path": &n.Path, "state": &n.State, "keeps": &n.Keeps} {
		*to, _ = rec[name].(string)
		delete(rec, name)
	}
	n.Left, _ = rec["left"].(int64)
	n.Right, _ = rec["right"].(int64)
	n.Version, _ = rec["_version"].(repo.Version)
	list, _ := rec["ancestors"].([]any)
	for _, one := range list {
		id, _ := one.(string)
		n.Ancestors = append(n.Ancestors, id)
	}
	for _, name := range []string{"left", "right", "ancestors", "_version"} {
		delete(rec, name)
	}
	n.Fields = rec
	return n
}

func (r inspected) nodes(list iter.Seq2[map[string]any, error]) iter.Seq2[Inspected, error] {
	return func(yield func(Inspected, error) bool) {
		for rec, err := range list {
			if err != nil {
				yield(Inspected{}, err)
				return
			}
			if !yield(r.node(rec), nil) {
				return
			}
		}
	}
}

func (r inspected) Find(ctx context.Context, q repo.Query) iter.Seq2[Inspected, error] {
	return r.nodes(r.whole.Find(ctx, q))
}

func (r inspected) Scan(ctx context.Context, q repo.Query) iter.Seq2[Inspected, error] {
	return r.nodes(r.whole.Scan(ctx, q))
}

func (r inspected) Count(ctx context.Context, q repo.Query) (int, error) {
	return r.whole.Count(ctx, q)
}

func (r inspected) Get(ctx context.Context, key repo.Key) (Inspected, error) {
	rec, err := r.whole.Get(ctx, key)
	if err != nil {
		return Inspected{}, err
	}
	return r.node(rec), nil
}

func (r inspected) GetMany(ctx context.Context, keys []repo.Key) (list []Inspected, found []bool, err error) {
	records, found, err := r.whole.GetMany(ctx, keys)
	for _, rec := range records {
		list = append(list, r.node(rec))
	}
	return list, found, err
}

func (r inspected) Page(ctx context.Context, q repo.Query, cursor string) (page repo.Page[Inspected], err error) {
	records, err := r.whole.Page(ctx, q, cursor)
	page.Next, page.Prev = records.Next, records.Prev
	for _, rec := range records.Items {
		page.Items = append(page.Items, r.node(rec))
	}
	return page, err
}
