package repo_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

// What operations cost without a tracer, with one that looks at nothing, and with requests told.
func BenchmarkTracer(b *testing.B) {
	begin := func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
		return ctx, func(repo.Event) {}
	}
	request := func(context.Context, repo.Event) func(repo.Event) { return func(repo.Event) {} }
	for name, tracer := range map[string]repo.Tracer{"none": {}, "begin": {Begin: begin}, "requests": {Begin: begin, Request: request}} {
		store := repo.NewStore(telling{memory.New(nil)}, &repo.Options{Tracer: tracer})
		posts, err := repo.Open[post](b.Context(), store, blogSchema())
		if err != nil {
			b.Fatal(err)
		}
		p := post{Author: "a", ID: "1"}
		for op, do := range map[string]func() error{
			"put": func() error { p.Version = repo.Version{}; return posts.Put(b.Context(), &p) },
			"get": func() error { _, err := posts.Get(b.Context(), repo.Key{"a", "1"}); return err },
			"update": func() error {
				return second(posts.Update(b.Context(), repo.Key{"a", "1"}, func(*post) error { return nil }))
			},
			"find": func() error { return second(repo.Collect(posts.Find(b.Context(), repo.Where("author", "a")))) },
		} {
			b.Run(op+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
