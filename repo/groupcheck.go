package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// collections returns the collections of the group's writes, each once, in the order of their names.
func (g *Group) collections() (list []*collection) {
	for i := range g.told {
		c := g.told[i].c
		if i > 0 && c == g.told[i-1].c {
			continue
		}
		at, there := slices.BinarySearchFunc(list, c.Name, func(o *collection, name string) int { return strings.Compare(o.Name, name) })
		if !there {
			list = slices.Insert(list, at, c)
		}
	}
	return list
}

// check says why no store can do the group, or not this one.
func (g *Group) check(ctx context.Context, all []*collection) error {
	f := &g.store.handle.Facts
	switch n := len(g.writes); {
	case ctx == nil:
		return failure.ErrNoContext
	case f.MaxOps > 0 && n > max(f.MaxOps, 1):
		return commit.TooManyRows(f, n, n)
	case n > 1 && f.Scope == driver.ScopeRecord:
		return fmt.Errorf("%s changes one record at a time, and the group has %d; commit them one by one: %w", f.Name, n, ErrUnsupported)
	case g.across && f.Scope < driver.ScopeStore:
		return fmt.Errorf("%s changes one %s at a time, and the group is to go across partitions: %w", f.Name, f.Scope, ErrUnsupported)
	case f.Scope < driver.ScopeStore && !together(all):
		return fmt.Errorf("%s changes one partition of one collection at a time, and the group is of %s; declare With, by which one lies with the other: %w",
			f.Name, namesOf(all, " and "), ErrUnsupported)
	}
	return g.checkKeys(ctx)
}

// together reports whether the records of collections lie together.
func together(all []*collection) bool {
	return !slices.ContainsFunc(all, func(c *collection) bool { return c.Records.Root().Name != all[0].Records.Root().Name })
}

// checkKeys says what is wrong with the keys of the group, seen together.
func (g *Group) checkKeys(ctx context.Context) error {
	type id struct {
		of  *commit.Writer
		key driver.Key
	}
	seen, by := make(map[id]bool, len(g.writes)), map[string]*commit.Writer{}
	for i := range g.writes {
		w := &g.writes[i]
		wrong := ""
		if by[w.By.Name] == nil {
			by[w.By.Name] = w.By
		}
		switch {
		case by[w.By.Name] != w.By && by[w.By.Name].IsBefore(w.By.Collection):
			return failure.OfRecord(w.By.Name, w.Key, catalog.MovedOn("the group, which is to be made anew, has writes of before and of after it"))
		case by[w.By.Name] != w.By:
			wrong = "a collection is in a group by one repository, and this one has another than a write before"
		case w.Key.Partition != g.writes[0].Key.Partition && !g.across:
			wrong = "a group changes records of one partition, and this one is in another than the first; " +
				"where the store can, Store.Group does it with AcrossPartitions"
		case seen[id{w.By, w.Key}]:
			wrong = "the record is named twice in the group"
		}
		if wrong != "" {
			return failure.OfRecord(w.By.Name, w.Key, failure.Invalid("%s", wrong))
		}
		if seen[id{w.By, w.Key}] = true; i%1000 == 0 && ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ErrTimeout, context.Cause(ctx))
		}
	}
	return nil
}

func namesOf(all []*collection, between string) string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	return strings.Join(names, between)
}

// numbered returns the error of a write of a group, which says which one it is.
func numbered(verb string, number int, err error) error {
	return &failure.Numbered{Verb: verb, Number: number, Err: err}
}

// end ends the commit and makes err an *Error.
func (g *Group) end(k *store.Call, all []*collection, err error) error {
	if err != nil {
		err = g.annotate(k.Op, all, err)
	}
	return k.End(err)
}

// annotate makes err an *Error of the collection whose record it is about or, if it is about none, of all.
func (g *Group) annotate(op string, all []*collection, err error) error {
	for _, c := range all {
		if gone := c.Gone(); gone != nil && errors.Is(err, ErrInvalid) {
			return c.annotate(op, nil, gone) // the backend does not know the tables any more
		}
	}
	c := g.bad
	if k, ok := errors.AsType[*failure.Keyed](err); ok && len(g.errs) == 0 {
		same := func(w commit.Write) bool { return w.By.Name == k.In && w.Key == k.Key }
		if i := slices.IndexFunc(g.writes, same); i >= 0 {
			c, err = g.told[i].c, numbered(g.told[i].verb, i, err)
		}
	}
	if c != nil {
		return c.annotate(op, nil, err)
	}
	return &Error{Op: op, Collection: namesOf(all, "+"), Err: g.store.Redact(err), Retryable: failure.IsRetryable(err)}
}
