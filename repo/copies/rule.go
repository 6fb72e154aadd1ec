package copies

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
)

// A Rule says what the records of a target, of type X, have of those of a source, of type Y.
type Rule[X, Y any] struct {
	// By names the fields of X that hold the key of a Y, in the order of this key; "field[]" is the elements of a list. The
	// key of X, or an index, finds the records by them, in the order of the rest of their keys: an index of the partition
	// By has the fields of the key of X that are not in By as its Sort.
	By []string

	// Refs returns the keys of the Y of which a record has copies. It returns what By holds, so a record that By finds
	// under a key returns this key. A record may have several, or none.
	Refs func(x *X) []repo.Key

	// Copy fills the copies into a record. It gets what Refs names, in this order, nil for a Y that is not there: Copy
	// clears the copies then, or leaves them as they were. With the same arguments it does the same, and it changes
	// neither the key nor what By names. Copy may read other records, which change in groups with the Y: see
	// [Source.Changed]. A version among the copies shows of which state of Y they are; they are then written whenever Y
	// is.
	Copy func(ctx context.Context, x *X, of []*Y) error
}

// Declare says that a target has copies of a source, which is another collection of the same Store. Declare all that a
// target has before its first write. If no index finds the copies, Declare is ErrNoIndex, which names the index to add.
func Declare[X, Y any](t *Target[X], s *Source[Y], rule Rule[X, Y]) error {
	switch {
	case t == nil || s == nil || rule.Refs == nil || rule.Copy == nil:
		return failed("declare", "", fmt.Errorf("a target, a source or a function is nil: %w", repo.ErrInvalid))
	case t.store != s.store || t.name == s.name:
		return failed("declare", t.name, fmt.Errorf("%s is of another Store, or the target itself: %w", s.name, repo.ErrInvalid))
	case len(rule.By) != len(s.key):
		return failed("declare", t.name, fmt.Errorf("%q is no key of %s, which has the fields %q: %w", rule.By, s.name, s.key, repo.ErrInvalid))
	}
	l := &link[X, Y]{t, s, rule}
	key, _ := s.id(&s.none)
	if _, err := t.records.Explain(l.query(key)); err != nil {
		return err
	}
	t.rules, s.links = append(t.rules, l), append(s.links, l)
	if !slices.Contains(s.targets, noter(t)) {
		s.targets = append(s.targets, t)
	}
	return nil
}

// A link is the copies that a target has of a source.
type link[X, Y any] struct {
	t *Target[X]
	s *Source[Y]
	Rule[X, Y]
}

// query returns the query for the records with copies of a Y. They come in the order of their keys, which no write
// changes, so none is passed over.
func (l *link[X, Y]) query(key repo.Key) repo.Query {
	q := repo.Query{}
	for i, name := range l.By {
		q = q.Where(name, key[i])
	}
	var order []string
	for _, name := range l.t.order {
		if !slices.Contains(l.By, strings.TrimPrefix(name, "-")) {
			order = append(order, name)
		}
	}
	return q.Order(order...)
}

// together is how many records are brought up to date at a time.
const together = 256

// follow brings all copies of a Y up to date.
func (l *link[X, Y]) follow(ctx context.Context, key repo.Key) (changed int, first error) {
	var chunk []X
	flush := func() {
		n, err := l.t.settle(ctx, itemsOf(chunk))
		if changed, chunk = changed+n, nil; first == nil {
			first = err
		}
	}
	for x, err := range l.t.records.Find(ctx, l.query(key)) {
		if err != nil {
			return changed, err
		}
		if chunk = append(chunk, x); len(chunk) == together {
			flush()
		}
	}
	flush()
	return changed, first
}

// join adds the copies of a Y that is written to the group of this write, if all of them can be in it and they are no
// more than room. It returns how many it added.
func (l *link[X, Y]) join(ctx context.Context, g *group, now *given, room int) (n int, err error) {
	t := l.t
	if !t.isWhole() && t.root != l.s.root {
		return 0, nil
	}
	records, err := repo.Collect(t.records.Find(ctx, l.query(now.key).Limit(room+1)))
	if err != nil || len(records) > room {
		return 0, err
	}
	list := itemsOf(records)
	for _, at := range list {
		if key, _ := t.id(at.x); !t.isNear(key, now.place, now.key) {
			return 0, nil
		}
	}
	if err := t.fill(ctx, list, now); err != nil {
		return 0, err
	}
	for _, at := range list {
		key, v := t.id(at.x)
		if at.err != nil || v.IsZero() {
			return n, fmt.Errorf("%s cannot be copied now: %w", key, repo.ErrInvalid)
		}
		if at.differs && g.names(t.place.id(key)) {
			t.replace(t.records.In(g.Group), at.x)
			t.condition(g, key, at.seen)
			n++
		}
	}
	return n, nil
}

// fill fills the copies of one source into records.
func (l *link[X, Y]) fill(ctx context.Context, list []*item[X], now *given) error {
	var keys []repo.Key
	at := map[string]int{}
	refs := make([][]int, len(list))
	for i, one := range list {
		for _, key := range l.Refs(one.x) {
			id := l.s.place.id(key)
			n, there := at[id]
			if !there {
				n = len(keys)
				at[id], keys = n, append(keys, key)
			}
			refs[i] = append(refs[i], n)
		}
	}
	ys, err := l.read(ctx, keys)
	if err != nil {
		return err
	}
	all := make([]seen, len(keys))
	for n, key := range keys {
		if all[n], err = l.saw(key, ys[n]); err != nil {
			return err
		}
		if now != nil && now.place == &l.s.place && now.id == all[n].id {
			ys[n], all[n] = now.now.(*Y), seen{}
		}
	}
	for i, one := range list {
		var of []*Y
		for _, n := range refs[i] {
			if of = append(of, ys[n]); all[n].check != nil {
				one.seen = append(one.seen, all[n])
			}
		}
		if one.err == nil {
			one.err = failed("copy", l.t.name, l.t.store.Redact(l.Copy(ctx, one.x, of)))
		}
	}
	return nil
}

// mostKeys is how many keys a request has.
const mostKeys = 1000

// read returns the records under keys, nil where there is none.
func (l *link[X, Y]) read(ctx context.Context, keys []repo.Key) ([]*Y, error) {
	all := make([]*Y, 0, len(keys))
	for part := range slices.Chunk(keys, mostKeys) {
		records, found, err := l.s.records.GetMany(ctx, part)
		if err != nil {
			return nil, err
		}
		for i := range part {
			if found[i] {
				all = append(all, &records[i])
			} else {
				all = append(all, nil)
			}
		}
	}
	return all, nil
}

// saw returns what was seen of a Y.
func (l *link[X, Y]) saw(key repo.Key, y *Y) (seen, error) {
	option, v := repo.IfAbsent(), repo.Version{}
	if y != nil {
		if _, v = l.s.id(y); v.IsZero() {
			return seen{}, failed("copy", l.s.name, errNoVersion)
		}
		option = repo.IfVersion(v)
	}
	return seen{
		id:      l.s.place.id(key),
		version: v,
		isNear:  func(x repo.Key, p *place) bool { return l.s.isNear(key, p, x) },
		check:   func(g *repo.Group) { l.s.records.In(g).Check(key, option) },
	}, nil
}
