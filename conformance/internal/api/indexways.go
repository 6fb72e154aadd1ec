package api

import (
	"context"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A posing store is the store under test that says of itself what another one would, so
// that package repo would keep its indexes in another way.
type posing struct {
	driver.Store
	as func(f *driver.Facts)
}

func (p posing) Facts() driver.Facts {
	f := p.Store.Facts()
	if p.as != nil {
		p.as(&f)
	}
	return f
}

// A way is how an index is kept.
type way struct {
	index repo.Index
	as    func(f *driver.Facts) // what the store says of itself; nil for nothing else
}

// An exchange is two ways to keep one index.
type exchange struct {
	what string
	ways [2]way
}

// exchanges returns the ways in which a store can keep indexes.
func exchanges(f driver.Facts) []exchange {
	var list []exchange
	if f.Native.Has && len(f.NativeLocal) == 0 && f.Scope > driver.ScopeRecord {
		table, native := byLevel(), byLevel()
		table.Kind, native.Kind = "table", "native"
		list = append(list, exchange{"as a table and native", [2]way{{index: table}, {index: native}}})
	}
	if f.Scope == driver.ScopeStore || f.Scope == driver.ScopePartition && f.Remote.Has {
		other := func(f *driver.Facts) {
			f.Scope = driver.ScopeStore + driver.ScopePartition - f.Scope
			f.Remote.Has = true
		}
		rows := repo.Index{Partition: []string{"level"}, Sort: []string{"time"}, Kind: "table"}
		values := repo.Index{Partition: []string{"text"}, Unique: true, Kind: "table"}
		list = append(list, exchange{"rows with records and apart", [2]way{{index: rows}, {rows, other}}},
			exchange{"unique values with records and apart", [2]way{{index: values}, {values, other}}})
	}
	return list
}

func hasExchanges(f driver.Facts) string {
	if len(exchanges(f)) == 0 {
		return f.Name + " keeps indexes in one way only"
	}
	return ""
}

func anotherWay(ctx context.Context, e *env) {
	for _, x := range exchanges(e.Facts) {
		schema := withIndexes(x.ways[0].index)
		schema.Collection = e.FreshName()
		r, err := repo.Open[message](ctx, repo.NewStore(posing{e.Store, x.ways[0].as}, nil), schema)
		e.OK("open, "+x.what, err)
		insertAll(ctx, e, r, message{Host: e.name("h"), Level: "info", Text: e.name(x.what)})
		other := withIndexes(x.ways[1].index)
		other.Collection = schema.Collection
		_, err = repo.Open[message](ctx, repo.NewStore(posing{e.Store, x.ways[1].as}, nil), other)
		e.Is("open in the other way, "+x.what, err, repo.ErrSchema)
		insertAll(ctx, e, r, message{Host: e.name("h"), ID: 1, Level: "info", Text: e.name(x.what) + " again"})
		clean(ctx, e, r)
	}
}
