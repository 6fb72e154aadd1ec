package api

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// A visit to a shelf lies with its items, for a time.
type visit struct {
	Shelf string    `repo:"shelf"`
	ID    string    `repo:"id"`
	Until time.Time `repo:"until,expires"`
}

// readsPartition reads partitions across three collections that lie together and one that does not.
func readsPartition(ctx context.Context, e *env) {
	p, name, _ := openJoint(ctx, e)
	others, err := openAs[item](ctx, e, e.FreshName(), itemSchema())
	e.OK("open of a third", err)
	visits, err := openAs[visit](ctx, e, e.FreshName(), repo.Schema{With: name, Partition: []string{"shelf"}, Sort: []string{"id"}})
	e.OK("open of a fourth", err)
	insert := func(shelf string, id string, n int64) {
		it, line := e.item(id), newItemLine(e, n)
		it.Shelf, line.Shelf = e.name(shelf), e.name(shelf)
		again := it
		e.OK("insert of an item", p.items.Insert(ctx, &it))
		e.OK("insert of an item elsewhere", others.Insert(ctx, &again))
		e.OK("insert of a line", p.lines.Insert(ctx, line))
		e.OK("insert of a visit", visits.Insert(ctx, &visit{e.name(shelf), id, time.Now().Add(time.Hour * time.Duration(2*n-5))}))
	}
	insert("shelf", "c", 3)
	insert("shelf", "a", 1)
	insert("shelf", "b", 2)
	insert("other shelf", "d", 4)
	e.OK("delete of an item", p.items.Delete(ctx, e.itemKey("b")))
	for _, tt := range []struct{ shelf, want string }{
		{"shelf", "a text of a, c text of c, | a text of a, b text of b, c text of c, | 1=101 2=102 3=103 | c "},
		{"other shelf", "d text of d, | d text of d, | 4=104 | d "},
		{"no shelf", "| | | "},
	} {
		items, elsewhere, lines, seen := []item{{ID: "stale"}}, []item{{ID: "stale"}}, []itemLine{{N: -1}}, []visit{{ID: "stale"}}
		err := e.Repo.ReadPartition(ctx, repo.Key{e.name(tt.shelf)}, p.items.Into(&items), p.lines.Into(&lines), others.Into(&elsewhere), visits.Into(&seen))
		e.OK("read of a partition", err)
		have := ""
		for _, list := range [][]item{items, elsewhere} {
			for _, it := range list {
				e.That(!it.Version.IsZero(), "an item with its version", "%+v", it)
				have += it.ID + " " + it.Text + ", "
			}
			have += "| "
		}
		for _, l := range lines {
			have += fmt.Sprint(l.N, "=", l.Text, " ")
		}
		have += "| "
		for _, v := range seen {
			have += v.ID + " "
		}
		rule.Equal(e, "what "+tt.shelf+" has", have, tt.want)
	}
	items, lines := []item{{ID: "kept"}}, []itemLine{{N: -1}}
	over, cancel := context.WithCancel(ctx)
	cancel()
	e.Is("read of a partition with a context that is over", e.Repo.ReadPartition(over, repo.Key{e.name("shelf")}, p.items.Into(&items), p.lines.Into(&lines)), repo.ErrTimeout)
	e.That(len(items) == 1 && items[0].ID == "kept" && len(lines) == 1, "the lists as they were before a read that failed", "%v, %v", items, lines)
}
