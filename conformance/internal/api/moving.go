package api

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A meddled store is the store under test, of which others do something before records are
// read by key the first time.
type meddled struct {
	driver.Store
	once   sync.Once
	meddle func()
}

func (m *meddled) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if t.Class == driver.Records && t.Name[0] != '_' {
		m.once.Do(m.meddle)
	}
	return m.Store.Get(ctx, t, keys, mask, rows)
}

// keepsApart says why a store keeps the rows of no index apart from their records.
func keepsApart(f driver.Facts) string {
	if f.Scope != driver.ScopePartition || !f.Remote.Has {
		return f.Name + " changes a record and the rows of its indexes in one commit"
	}
	return ""
}

// movedBehind lets a record move, while a query is under way, from a place that the query
// has not come to yet to one that it has passed. The query goes on, because one of the records
// that it listed at first moves, too.
func movedBehind(ctx context.Context, e *env) {
	schema := withIndexes(repo.Index{Partition: []string{"level"}, Sort: []string{"text"}, Kind: "table"})
	schema.Collection = e.FreshName()
	others, err := repo.Open[message](ctx, e.Repo, schema)
	e.OK("open", err)
	host, level := e.name("h"), e.name("l")
	for id, text := range map[int64]string{1: "1", 2: "2", 3: "5"} {
		insertAll(ctx, e, others, message{Host: host, Time: e.when(0), ID: id, Level: level, Text: text})
	}
	move := func(id int64, text string) {
		_, err := others.Patch(ctx, repo.Key{host, e.when(0), id}, repo.Set("text", text))
		e.OK("move", err)
	}
	store := &meddled{Store: e.Store, meddle: func() {
		move(2, "9")
		move(3, "0")
		_, err := others.Maintain(ctx)
		e.OK("maintain", err)
		time.Sleep(20 * time.Millisecond) // for what would be dropped at once
	}}
	mine, err := repo.Open[message](ctx, repo.NewStore(store, nil), schema)
	e.OK("open", err)
	found := find(ctx, e, mine, repo.Where("level", level).Order("text").Limit(2), func(m message) string { return fmt.Sprint(m.ID) })
	rule.Equal(e, "what the query finds", found, []string{"1", "3"})
}
