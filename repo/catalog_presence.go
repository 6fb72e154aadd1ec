package repo

import (
	"context"
	"slices"
	"strings"
)

// Which fields every record has. A record without a column of an index has no row there,
// so that the index has all records only if none lacks the column. Parts of the key are
// never absent. Another field is there if it has a scalar type in the struct, which this
// program never writes as absent, and if no other program has written records without it:
// the catalog names the fields of which that cannot be said. Who is about to write the first
// record without a field says so in the catalog, and waits until all programs are told that
// may answer by an index with it.

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

// mayLack returns those of some fields that this program may write records without.
func (c *catalogC) mayLack(names []string) (list []string) {
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
func (c *catalogC) owes() []string {
	p := c.shared.presence.Load()
	o := c.owing.Load()
	if o == nil || o.of != p {
		o = &owing{p, c.mayLack(p.all())}
		c.owing.Store(o)
	}
	return o.names
}

// letLack makes the catalog say that records may lack fields; e is what it says. Ok is false
// when another program was faster. The caller holds the gate.
func (c *catalogC) letLack(ctx context.Context, k *call, e *catalogEntry, names []string) (ok bool, err error) {
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
	if ok, err := writeCatalog(ctx, c.store, k, c.store.cat, e); !ok {
		return false, err
	}
	c.know(e)
	return true, nil
}

// tell tells all programs that records will lack fields.
func (c *catalogC) tell(ctx context.Context, k *call, e *catalogEntry, names []string) (ok bool, err error) {
	before := len(e.Lacking)
	for _, name := range names {
		if !slices.Contains(e.Lacking, name) {
			e.Lacking = append(e.Lacking, name)
		}
	}
	if len(e.Lacking) > before {
		if ok, err := writeCatalog(ctx, c.store, k, c.store.cat, e); !ok {
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

// known returns what is known of the records now.
func (c *catalogC) known() known { return known{c.shared.presence.Load(), c.mayExpire()} }
