package copies_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Requests of writes, and of a change with copies: those that docs/howto/copies.md names.
func TestCost(t *testing.T) {
	scope := driver.ScopePartition
	for name, tt := range map[string]struct {
		options               *memory.Options
		tasks                 repo.Schema
		write, change, follow [3]int64 // reads, commits; with 20 copies and with 100
	}{
		"together": {nil, near, [3]int64{}, [3]int64{}, [3]int64{}},
		"apart":    {&memory.Options{Scope: &scope}, far, [3]int64{}, [3]int64{}, [3]int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			tracer := repo.Tracer{Request: func(context.Context, repo.Event) func(repo.Event) {
				requests.Add(1)
				return func(repo.Event) {}
			}}
			p, ctx := open(t, memory.New(tt.options), tt.tasks, &repo.Options{Tracer: tracer}), t.Context()
			cost := func(what string, call func()) {
				before := requests.Load()
				call()
				t.Logf("%s %s: %d", name, what, requests.Load()-before)
			}
			p.put(t, "ann", "Ann")
			p.put(t, "bob", "Bob")
			cost("write", func() { p.add(t, "0", "ann") })
			for n := range 20 {
				p.add(t, fmt.Sprint("a", n), "ann")
			}
			for n := range 100 {
				p.add(t, fmt.Sprint("b", n), "bob")
			}
			good(p.people.Follow(ctx))(t)
			for _, who := range []string{"ann", "bob"} {
				cost("change "+who, func() { p.put(t, who, "new") })
				cost("follow "+who, func() { good(p.people.FollowOne(ctx, repo.Key{"t", who}))(t) })
			}
		})
	}
}
