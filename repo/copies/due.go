package copies

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A place says where the records of a collection lie.
type place struct {
	store *repo.Store
	name  string   // of the collection
	root  string   // of those that lie together
	key   []string // fields
	order []string // of the records, by their key
	parts int      // of the key, that are the partition
}

func placeOf(store *repo.Store, schema repo.Schema) place {
	p := place{store: store, name: schema.Collection, root: schema.With, parts: len(schema.Partition)}
	if p.root == "" {
		p.root = p.name
	}
	p.order = slices.Concat(schema.Partition, schema.Sort)
	for _, name := range p.order {
		p.key = append(p.key, strings.TrimPrefix(name, "-"))
	}
	return p
}

// isWhole reports whether one commit changes any records of the store.
func (p *place) isWhole() bool { return p.store.Facts().Scope == driver.ScopeStore }

// isNear reports whether one commit changes a record of p and one of another place.
func (p *place) isNear(key repo.Key, other *place, at repo.Key) bool {
	return p.isWhole() || p.root == other.root && len(key) == len(p.key) && len(at) == len(other.key) &&
		reflect.DeepEqual(key[:p.parts], at[:other.parts])
}

// id returns a text that no other record has.
func (p *place) id(key repo.Key) string { return fmt.Sprintf("%s %#v", p.name, key) }

// A group is a repo.Group with what it names.
type group struct {
	*repo.Group
	named map[string]bool // by the ids of records
}

func (p *place) group() group {
	if p.isWhole() {
		return group{p.store.Group(repo.AcrossPartitions()), map[string]bool{}}
	}
	return group{p.store.Group(), map[string]bool{}}
}

// names reports whether the group did not name a record before.
func (g *group) names(id string) bool {
	was := g.named[id]
	g.named[id] = true
	return !was
}

// A list says of which records of a place something is due. It is a collection that lies with them, with a row for each.
type list struct {
	place
	rows *repo.Repo[row]
}

type row = map[string]any

const (
	dueSuffix  = "_due"     // of sources: their copies
	noteSuffix = "_confirm" // of targets: to look at their sources once more
	sinceField = "due_since"
	version    = "_version" // of a record that is a map
)

func openList(ctx context.Context, p place, suffix string, opts []repo.OpenOption) (*list, error) {
	of, err := repo.SchemaOf(ctx, p.store, p.name)
	if err != nil {
		return nil, err
	}
	schema := repo.Schema{Collection: p.name + suffix, With: p.root, Partition: of.Partition, Sort: of.Sort, Fields: map[string]string{sinceField: "time"}}
	for _, name := range p.key {
		if name == sinceField {
			return nil, failed("open", p.name, fmt.Errorf("the key has the field %s; give it another name: %w", name, repo.ErrSchema))
		}
		schema.Fields[name] = of.Fields[name]
	}
	rows, err := repo.Open[row](ctx, p.store, schema, opts...)
	return &list{p, rows}, err
}

// add adds to a group that something is due of a record. The row has its version after the commit.
func (l *list) add(g *group, key repo.Key) *row {
	r := row{sinceField: time.Now()}
	for i := range min(len(key), len(l.key)) {
		r[l.key[i]] = key[i]
	}
	l.rows.In(g.Group).Put(&r)
	return &r
}

// keyIn returns of which record a row is.
func (l *list) keyIn(r row) repo.Key {
	key := make(repo.Key, len(l.key))
	for i, name := range l.key {
		key[i] = r[name]
	}
	return key
}

// remove removes a row, unless another one came in its place.
func (l *list) remove(ctx context.Context, r row) error {
	v, _ := r[version].(repo.Version)
	if v.IsZero() {
		return nil
	}
	return unless(l.rows.Delete(ctx, l.keyIn(r), repo.IfVersion(v)), repo.ErrConflict)
}

// all yields the rows, in no order.
func (l *list) all(ctx context.Context) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		if l == nil {
			return
		}
		for chunk, err := range l.rows.Walk(ctx, "") {
			if err != nil && !yield(nil, err) {
				return
			}
			for _, r := range chunk.Items {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// each calls do with each row. An error about one of them does not keep it from the others; the first one is returned.
func (l *list) each(ctx context.Context, do func(r row) (int, error)) (n int, first error) {
	for r, err := range l.all(ctx) {
		changed := 0
		if err == nil {
			changed, err = do(r)
		}
		if n += changed; err != nil && first == nil {
			first = err
		}
		for _, kind := range []error{repo.ErrUnavailable, repo.ErrTimeout, repo.ErrThrottled, repo.ErrClosed} {
			if errors.Is(err, kind) {
				return n, first
			}
		}
	}
	return n, first
}

// Due is what is due.
type Due struct {
	Count int       // of sources whose copies may differ, and of targets whose writer did not look once more
	Since time.Time // of the one that was not written for longest; zero if there is none
}

func (l *list) count(ctx context.Context, d *Due) error {
	for r, err := range l.all(ctx) {
		if err != nil {
			return err
		}
		if since, _ := r[sinceField].(time.Time); d.Count == 0 || since.Before(d.Since) {
			d.Since = since
		}
		d.Count++
	}
	return nil
}

// unless returns err, or nil if it is of a kind.
func unless(err, kind error) error {
	if errors.Is(err, kind) && !errors.Is(err, repo.ErrUnknownOutcome) {
		return nil
	}
	return err
}

// failed makes err an *Error; errors of package repo stay as they are.
func failed(op, collection string, err error) error {
	if _, ok := errors.AsType[*repo.Error](err); ok || err == nil {
		return err
	}
	return &repo.Error{Op: op, Collection: collection, Err: err, Retryable: errors.Is(err, repo.ErrContention)}
}
