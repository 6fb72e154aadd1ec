package repo

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// Which fields every record has. A record without a column of an index has no row there,
// so that the index has all records only if none lacks the column. Parts of the key are
// never absent. Another field is there if it has a scalar type in the struct, which this
// program never writes as absent, and if no other program has written records without it:
// the catalog names the fields of which that cannot be said. Who is about to write the first
// record without a field says so in the catalog, and waits until all programs are told that
// may answer by an index with it.

// isScalar reports whether a field of a struct always has a value in the store.
func (f *structField) isScalar() bool {
	switch f.kind {
	case driver.Bool, driver.Int, driver.Float, driver.String, driver.Time:
		return !f.nanos && f.empty.IsNone() && f.typ.Kind() != reflect.Pointer
	}
	return false
}

// zero returns the value of a scalar field that was never set.
func (f *structField) zero() (driver.Value, error) { return f.enc(reflect.New(f.typ).Elem(), 0) }

// A presence is what the catalog says of fields that are no parts of the key. It does not
// change: another one takes its place.
type presence struct {
	made    string   // of which collection
	always  []string // every record has them
	telling []string // so far; but programs are being told that records may lack them
}

// presence returns what the entry says of the fields.
func (e *catalogEntry) presence() *presence {
	p := &presence{made: e.Made}
	for name := range e.Fields {
		switch {
		case slices.Contains(e.Optional, name):
		case slices.Contains(e.Lacking, name):
			p.telling = append(p.telling, name)
		default:
			p.always = append(p.always, name)
		}
	}
	slices.Sort(p.always)
	slices.Sort(p.telling)
	return p
}

// all returns the fields that every record has so far.
func (p *presence) all() []string { return slices.Concat(p.always, p.telling) }

// but returns what of p still holds by what the catalog said at another time: a field that
// records may lack, by one of the two, is not always there again. It is p itself if all does.
func (p *presence) but(other *presence) *presence {
	next := &presence{made: p.made}
	for _, name := range p.always {
		switch {
		case slices.Contains(other.always, name):
			next.always = append(next.always, name)
		case slices.Contains(other.telling, name):
			next.telling = append(next.telling, name)
		}
	}
	for _, name := range p.telling {
		if slices.Contains(other.always, name) || slices.Contains(other.telling, name) {
			next.telling = append(next.telling, name)
		}
	}
	if len(next.always) == len(p.always) && len(next.telling) == len(p.telling) {
		return p
	}
	return next
}

// learn takes over what the catalog says of the fields.
func (sh *shared) learn(said *presence) {
	for {
		p, next := sh.presence.Load(), said
		if p != nil && p.made == said.made {
			next = p.but(said)
		}
		if next == p || sh.presence.CompareAndSwap(p, next) {
			return
		}
	}
}

// isAlways reports whether no record of the collection lacks the field at a position.
func (c *collection) isAlways(at int, p *presence) bool {
	return at < len(c.key) || c.scalars[at] != nil && slices.Contains(p.always, c.cols[at].Name)
}

// mayLack returns those of some fields that this program may write records without.
func (c *collection) mayLack(names []string) (list []string) {
	for _, name := range names {
		if at := c.at(name); at < 0 || c.scalars[at] == nil {
			list = append(list, name)
		}
	}
	return list
}

// An owing is which fields a program must not leave out before it has said so.
type owing struct {
	of    *presence
	names []string
}

// owes returns the names of the fields that every record has so far, of those that this
// program may leave out.
func (c *collection) owes() []string {
	p := c.shared.presence.Load()
	o := c.owing.Load()
	if o == nil || o.of != p {
		o = &owing{p, c.mayLack(p.all())}
		c.owing.Store(o)
	}
	return o.names
}

// leavesOut reports whether a record that a write makes lacks a field.
func (c *collection) leavesOut(w *write, name string) bool {
	at := c.at(name)
	switch {
	case w.verb == doPatch: // of what is there all may be known, or some
	case w.next != nil && at >= 0:
		return w.next.vals[at].IsNone()
	case w.next != nil:
		return !w.next.has(name)
	}
	return slices.ContainsFunc(w.edits, func(e driver.Edit) bool {
		its := e.Field < 0 && e.Name == name || e.Field >= 0 && len(c.key)+e.Field == at
		return its && e.Do != driver.Add && e.Value.IsNone()
	})
}

// maySkip sees to it that records may lack fields before one is written that does.
func (c *collection) maySkip(ctx context.Context, k *call, writes []write) error {
	owed := c.owes()
	if len(owed) == 0 {
		return nil
	}
	for i := range writes {
		var names []string
		for _, name := range owed {
			if c.leavesOut(&writes[i], name) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		if err := c.announce(ctx, k, func(e *catalogEntry) (bool, error) { return c.letLack(ctx, k, e, names) }); err != nil {
			return ofKey(writes[i].key, err)
		}
	}
	return nil
}

// letLack makes the catalog say that records may lack fields; e is what it says. Ok is false
// when another program was faster. The caller holds the gate.
func (c *collection) letLack(ctx context.Context, k *call, e *catalogEntry, names []string) (ok bool, err error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(e.Optional, name) })
	if len(names) == 0 {
		c.know(e)
		return true, nil
	}
	if c.attached {
		return false, invalid("every record has %s in the store, and WithoutDefine left it so; write one that lacks it by a program without WithoutDefine first", strings.Join(names, ", "))
	}
	if slices.ContainsFunc(names, e.isSortedBy) {
		if ok, err := c.tell(ctx, k, e, names); !ok {
			return false, err
		}
	}
	for _, name := range names {
		e.addOptional(name)
	}
	e.Lacking = slices.DeleteFunc(e.Lacking, func(name string) bool { return slices.Contains(e.Optional, name) })
	if ok, err := c.store.writeCatalog(ctx, k, c.store.cat, e); !ok {
		return false, err
	}
	c.know(e)
	return true, nil
}

// tell tells all programs that records will lack fields.
func (c *collection) tell(ctx context.Context, k *call, e *catalogEntry, names []string) (ok bool, err error) {
	before := len(e.Lacking)
	for _, name := range names {
		if !slices.Contains(e.Lacking, name) {
			e.Lacking = append(e.Lacking, name)
		}
	}
	if len(e.Lacking) > before {
		if ok, err := c.store.writeCatalog(ctx, k, c.store.cat, e); !ok {
			return false, err
		}
	}
	c.know(e)
	return true, c.outlast(ctx, e, names...)
}

// isSortedBy reports whether an index has a field among those that order it, so that it may
// be read by queries that do not name the field.
func (e *catalogEntry) isSortedBy(field string) bool {
	return slices.ContainsFunc(e.Indexes, func(x catalogIndex) bool {
		return slices.ContainsFunc(x.Sort, func(name string) bool { return strings.TrimPrefix(name, "-") == field })
	})
}

// addOptional adds fields to those that records may lack.
func (e *catalogEntry) addOptional(name string) {
	if !slices.Contains(e.Optional, name) {
		e.Optional = append(e.Optional, name)
	}
}

// answers returns an error if what was read by a plan may lack something: because the schema
// was changed meanwhile, or because records lack fields by now that all had before.
func (c *collection) answers(ctx context.Context, p *plan) error {
	if err := c.holds(ctx); err != nil {
		return err
	}
	now := c.shared.presence.Load()
	if p.x == nil || p.known == now {
		return nil
	}
	if fixed, _, _ := c.fitsTable(&p.bound, p.x); c.lacksRows(&p.bound, p.x, fixed, now) {
		return fmt.Errorf("while it was read, another program wrote records without a field: %w", c.lackingRows(&p.bound, p.x, now))
	}
	return nil
}
