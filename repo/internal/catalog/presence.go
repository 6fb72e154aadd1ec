package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
)

// Which fields every record has. A record without a column of an index has no row there,
// so that the index has all records only if none lacks the column. Parts of the key are
// never absent. Another field is there if it has a scalar type in the struct, which this
// program never writes as absent, and if no other program has written records without it:
// the catalog names the fields of which that cannot be said. Who is about to write the first
// record without a field says so in the catalog, and waits until all programs are told that
// may answer by an index with it.

// Presence returns what the entry says of the fields.
func (e *Entry) Presence() *plan.Presence {
	p := &plan.Presence{Made: e.Made}
	for name := range e.Fields {
		switch {
		case slices.Contains(e.Optional, name):
		case slices.Contains(e.Lacking, name):
			p.Telling = append(p.Telling, name)
		default:
			p.Always = append(p.Always, name)
		}
	}
	slices.Sort(p.Always)
	slices.Sort(p.Telling)
	return p
}

// learn takes over what the catalog says of the fields.
func (sh *Shared) learn(said *plan.Presence) {
	for {
		p, next := sh.presence.Load(), said
		if p != nil && p.Made == said.Made {
			next = p.But(said)
		}
		if next == p || sh.presence.CompareAndSwap(p, next) {
			return
		}
	}
}

// MayLack returns those of some fields that this program may write records without.
func (c *Collection) MayLack(names []string) (list []string) {
	for _, name := range names {
		if at := c.At(name); at < 0 || c.Scalars[at] == nil {
			list = append(list, name)
		}
	}
	return list
}

// An owing is which fields a program must not leave out before it has said so.
type owing struct {
	of    *plan.Presence
	names []string
}

// Owes returns the names of the fields that every record has so far, of those that this
// program may leave out.
func (c *Collection) Owes() []string {
	p := c.Shared.presence.Load()
	o := c.owing.Load()
	if o == nil || o.of != p {
		o = &owing{p, c.MayLack(p.All())}
		c.owing.Store(o)
	}
	return o.names
}

// LetLack makes the catalog say that records may lack fields; e is what it says. Ok is false
// when another program was faster. The caller holds the gate.
func (c *Collection) LetLack(ctx context.Context, k *store.Call, e *Entry, names []string) (ok bool, err error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(e.Optional, name) })
	if len(names) == 0 {
		c.know(e)
		return true, nil
	}
	if c.Attached {
		return false, failure.Invalid("every record has %s in the store, and WithoutDefine left it so; write one that lacks it by a program without WithoutDefine first", strings.Join(names, ", "))
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
	if ok, err := WriteCatalog(ctx, c.Store, k, c.Store.Cat, e); !ok {
		return false, err
	}
	c.know(e)
	return true, nil
}

// tell tells all programs that records will lack fields.
func (c *Collection) tell(ctx context.Context, k *store.Call, e *Entry, names []string) (ok bool, err error) {
	before := len(e.Lacking)
	for _, name := range names {
		if !slices.Contains(e.Lacking, name) {
			e.Lacking = append(e.Lacking, name)
		}
	}
	if len(e.Lacking) > before {
		if ok, err := WriteCatalog(ctx, c.Store, k, c.Store.Cat, e); !ok {
			return false, err
		}
	}
	c.know(e)
	return true, c.outlast(ctx, e, names...)
}

// isSortedBy reports whether an index has a field among those that order it, so that it may
// be read by queries that do not name the field.
func (e *Entry) isSortedBy(field string) bool {
	return slices.ContainsFunc(e.Indexes, func(x IndexEntry) bool {
		return slices.ContainsFunc(x.Sort, func(name string) bool { return strings.TrimPrefix(name, "-") == field })
	})
}

// addOptional adds fields to those that records may lack.
func (e *Entry) addOptional(name string) {
	if !slices.Contains(e.Optional, name) {
		e.Optional = append(e.Optional, name)
	}
}

// Known returns what is known of the records now.
func (c *Collection) Known() plan.Known {
	return plan.Known{Presence: c.Shared.presence.Load(), MayExpire: c.MayExpire()}
}
