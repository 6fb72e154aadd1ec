package copies_test

import (
	"fmt"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Calls of the store: those that docs/howto/copies.md names.
func TestCost(t *testing.T) {
	scope := driver.ScopePartition
	for name, tt := range map[string]struct {
		options *memory.Options
		tasks   repo.Schema
		want    string
	}{
		"together": {nil, near, "3 8 7 6 207 "},
		"apart":    {&memory.Options{Scope: &scope}, far, "8 3 108 3 508 "},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stepped{Store: memory.New(tt.options)}
			p, ctx, got := open(t, s, tt.tasks, nil), t.Context(), ""
			cost := func(call func()) {
				before := s.n
				call()
				got += fmt.Sprint(s.n-before, " ")
			}
			p.put(t, "ann", "Ann")
			p.put(t, "bob", "Bob")
			cost(func() { p.add(t, "0", "ann") })
			for n := range 19 {
				p.add(t, fmt.Sprint("a", n), "ann")
			}
			for n := range 100 {
				p.add(t, fmt.Sprint("b", n), "bob")
			}
			good(p.people.Follow(ctx))(t)
			for _, who := range []string{"ann", "bob"} {
				cost(func() { p.put(t, who, "new") })
				cost(func() { good(p.people.FollowOne(ctx, repo.Key{"t", who}))(t) })
			}
			if got != tt.want {
				t.Errorf("the calls are %q, want %q", got, tt.want)
			}
		})
	}
}
